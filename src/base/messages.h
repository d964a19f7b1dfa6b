// What work has to tell whoever asked for it, beside its result: the library prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

class Messages {
 public:
  using Say = std::function<void(const std::string& text)>;
  // Takes how many steps are done, until it goes.
  using Progress = std::function<void(int64_t done)>;
  // Who listens; what is left out is told to nobody.
  struct Listeners {
    Say lines = {}, note = {}, warning = {};
    std::function<void(const std::string& text, bool important)> detail = {};
    // `unit` stands behind numbers of steps: " rows".
    std::function<Progress(const std::string& label, int64_t total, const std::string& unit)> progress = {};
  };

  // Nobody listens.
  Messages() = default;
  explicit Messages(Listeners listeners) : listeners_(std::move(listeners)) {}

  // How the work goes: text of whole lines.
  void show(const std::string& lines) const {
    if (listeners_.lines && !lines.empty()) listeners_.lines(lines);
  }
  // One of many things that were found.
  void detail(const std::string& text, bool important = false) const {
    if (listeners_.detail) listeners_.detail(text, important);
  }
  // How something was understood, a sentence.
  void note(const std::string& sentence) const {
    if (listeners_.note) listeners_.note(sentence);
  }
  // What may make a result worth less than it seems.
  void warn(const std::vector<std::string>& sentences) const {
    if (!listeners_.warning) return;
    for (const std::string& sentence : sentences) listeners_.warning(sentence);
  }
  // Begins to count steps of something; never empty.
  Progress progress(const std::string& label, int64_t total, const std::string& unit = "") const {
    return listeners_.progress ? listeners_.progress(label, total, unit) : [](int64_t) {};
  }

 private:
  Listeners listeners_;
};

}  // namespace espalier
