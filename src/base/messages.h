// What work has to tell whoever asked for it, beside its result: the library prints nothing.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

class Messages {
 public:
  using Say = std::function<void(const std::string& sentence)>;

  // Nobody listens.
  Messages() = default;
  // `lines` gets text of whole lines.
  Messages(Say lines, Say note, Say warning)
      : lines_(std::move(lines)), note_(std::move(note)), warning_(std::move(warning)) {}

  // How the work goes.
  void show(const std::string& lines) const {
    if (lines_) lines_(lines);
  }

  // How something was understood.
  void note(const std::string& sentence) const {
    if (note_) note_(sentence);
  }
  // What may make a result worth less than it seems.
  void warn(const std::vector<std::string>& sentences) const {
    if (!warning_) return;
    for (const std::string& sentence : sentences) warning_(sentence);
  }

 private:
  Say lines_, note_, warning_;
};

}  // namespace espalier
