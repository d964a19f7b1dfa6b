#include "report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "report/table.h"

namespace espalier {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarColumns = 20;

// "0:05", "1:02:05": whole seconds.
std::string clock_text(double seconds) {
  const auto s = static_cast<int64_t>(std::lround(seconds));
  const auto two = [](int64_t v) { return cat(v < 10 ? "0" : "", v); };
  if (s < 3600) return cat(s / 60, ":", two(s % 60));
  return cat(s / 3600, ":", two(s / 60 % 60), ":", two(s % 60));
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

}  // namespace

std::string duration(double seconds) {
  return seconds < 99.95 ? fixed(seconds, 1) + "s" : clock_text(seconds);
}

ProgressBar::ProgressBar(std::string label, int64_t total)
    : ProgressBar(std::move(label), total, std::cerr, Terminal::of(STDERR_FILENO)) {}

ProgressBar::ProgressBar(std::string label, int64_t total, std::ostream& out, const Terminal& terminal,
                         Env& env)
    : label_(std::move(label)),
      total_(total),
      out_(out),
      terminal_(terminal),
      env_(env),
      started_(env.steady_seconds()),
      drawn_(started_ - 1) {}

std::string ProgressBar::rate(double seconds) const {
  const double value = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  return cat(fixed(value, value < 10 ? 1 : 0), "/s");
}

void ProgressBar::update(int64_t done, const std::function<std::string()>& metrics) {
  done_ = done;
  const double now = env_.steady_seconds(), seconds = now - started_;
  if (!terminal_.interactive || now - drawn_ < kRedrawSeconds) return;
  drawn_ = now;
  std::string line = label_;
  if (total_ > 0) {
    const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
    const auto filled = static_cast<size_t>(share * kBarColumns);
    std::string bar(filled, '=');
    if (filled < kBarColumns) bar += '>';
    bar.resize(kBarColumns, ' ');
    line += cat(" [", bar, "]  ", done, "/", total_, "  ", rate(seconds));
    if (done > 0)
      line += cat(
          "  eta ",
          clock_text(std::max(0.0, seconds * (static_cast<double>(total_) / static_cast<double>(done) - 1))));
  } else {
    line += cat("  ", done, "  ", rate(seconds));
  }
  if (const std::string text = metrics(); !text.empty()) line += cat("  ", text);
  out_ << "\r\x1b[2K" << fit_width(line, terminal_.columns - 1) << std::flush;
}

void ProgressBar::finish(const std::string& metrics) {
  const double seconds = env_.steady_seconds() - started_;
  if (terminal_.interactive) out_ << "\r\x1b[2K";
  // Lines of one loop line up.
  out_ << label_ << "  " << done_ << " in " << padded(duration(seconds), 5) << "  "
       << padded(rate(seconds), 8);
  if (!metrics.empty()) out_ << "  " << metrics;
  out_ << '\n' << std::flush;
}

}  // namespace espalier
