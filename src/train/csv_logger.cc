#include <algorithm>

#include "base/env.h"
#include "base/format.h"
#include "base/shortest.h"
#include "espalier/callbacks.h"
#include "train/folder_of.h"

namespace espalier {
namespace {

class Logger final : public Callback {
 public:
  bool chief_only() const override { return true; }
  Logger(std::string path, CSVLoggerOptions options) : path_(std::move(path)), options_(options) {
    if (std::string_view("\"\r\n\0", 4).find(options_.separator) != std::string_view::npos)
      throw ValueError("csv_logger.separator", "a quote or a line's end separates nothing");
  }

  void on_train_begin(const Run& run) override {
    require_folder_of(path_, "csv_logger.path");
    names_ = run.logs;
    std::sort(names_.begin(), names_.end());
    std::string header = "epoch";
    for (const std::string& name : names_) header += options_.separator + quoted(name);
    header += '\n';
    text_ = options_.append && posix_env().exists(path_) ? posix_env().read_file(path_) : "";
    if (text_.empty()) {
      text_ = header;
    } else if (!text_.starts_with(header)) {
      const std::string found = text_.substr(0, std::min<size_t>(text_.find('\n'), 200));
      throw ValueError("csv_logger.columns",
                       cat("\"", path_, "\" begins with \"", found, "\", this run has \"",
                           header.substr(0, header.size() - 1), "\""));
    } else if (text_.back() != '\n') {
      text_ += '\n';
    }
    written_ = false;
  }

  void on_batch_end(int64_t, const Logs&) override {
    if (!written_) write();
  }

  void on_epoch_end(int epoch, const Logs& logs) override {
    text_ += cat(epoch);
    for (const std::string& name : names_) text_ += options_.separator + shortest(logs.at(name));
    text_ += '\n';
    write();
  }

  void on_train_end(const Logs&) override {
    if (!written_) write();
  }

  void save_state(CallbackState& state) const override { state.put_text("csv_logger/text", text_); }

  void load_state(const CallbackState& state) override {
    text_ = state.text("csv_logger/text");
    written_ = false;
  }

 private:
  void write() {
    posix_env().write_file(path_, text_);
    written_ = true;
  }

  std::string quoted(const std::string& name) const {
    if (name.find_first_of(std::string("\"\r\n") + options_.separator) == std::string::npos) return name;
    std::string out = "\"";
    for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + '"';
  }

  std::string path_;
  CSVLoggerOptions options_;
  std::vector<std::string> names_;
  std::string text_;  // of the whole file
  // A run that is refused before its first step ends leaves the file as it was.
  bool written_ = false;
};

}  // namespace

std::shared_ptr<Callback> CSVLogger(std::string path, CSVLoggerOptions options, Location at) {
  const CallScope scope(at);
  return std::make_shared<Logger>(std::move(path), options);
}

}  // namespace espalier
