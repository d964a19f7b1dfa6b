#include "report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "report/table.h"

namespace espalier {
namespace {

constexpr double kRedrawSeconds = 0.1, kQuietSeconds = 30;
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

ProgressBar::ProgressBar() : ProgressBar(std::cerr, Terminal::of(STDERR_FILENO)) {}

ProgressBar::ProgressBar(std::ostream& out, const Terminal& terminal, Env& env)
    : out_(out), terminal_(terminal), env_(env), started_(env.steady_seconds()), drawn_(started_) {}

void ProgressBar::start(std::string label, int64_t total, std::string unit) {
  label_ = std::move(label);
  unit_ = std::move(unit);
  total_ = total;
  done_ = 0;
  started_ = env_.steady_seconds();
  if (terminal_.interactive) drawn_ = started_;
}

std::string ProgressBar::rate(double seconds) const {
  const double value = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  return cat(fixed(value, value < 10 ? 1 : 0), unit_, "/s");
}

std::string ProgressBar::line(double seconds, const std::string& metrics) const {
  const std::string last = metrics.empty() ? "" : cat("  ", metrics);
  if (total_ <= 0) return cat(label_, "  ", done_, unit_, "  ", rate(seconds), last);
  const double all = static_cast<double>(total_), done = static_cast<double>(done_);
  std::string bar;
  if (terminal_.interactive) {
    const auto filled = static_cast<size_t>(std::clamp(done / all, 0.0, 1.0) * kBarColumns);
    bar.assign(filled, '=');
    if (filled < kBarColumns) bar += '>';
    bar.resize(kBarColumns, ' ');
    bar = cat(" [", bar, "]");
  }
  const std::string count = cat("  ", done_, "/", total_, unit_), speed = cat("  ", rate(seconds));
  std::string eta;
  if (done_ > 0) eta = cat("  eta ", clock_text(std::max(0.0, seconds * (all / done - 1))));
  return fitting({cat(label_, bar, count, speed, eta, last), cat(label_, bar, count, eta, last),
                  cat(label_, count, eta, last)});
}

std::string ProgressBar::fitting(const std::vector<std::string>& lines) const {
  for (const std::string& line : lines) {
    if (!terminal_.interactive || display_width(line) < terminal_.columns) return line;
  }
  return lines.back();
}

void ProgressBar::update(int64_t done, const std::function<std::string()>& metrics) {
  done_ = done;
  const double now = env_.steady_seconds();
  if (now - drawn_ < (terminal_.interactive ? kRedrawSeconds : kQuietSeconds)) return;
  drawn_ = now;
  std::string text = line(now - started_, metrics());
  shown_ = terminal_.interactive;
  if (shown_) text = cat("\r\x1b[2K", fit_width(text, terminal_.columns - 1));
  out_ << text << (shown_ ? "" : "\n") << std::flush;
}

void ProgressBar::finish(const std::string& metrics) {
  const double now = env_.steady_seconds(), seconds = now - started_;
  if (!terminal_.interactive && now - drawn_ < kQuietSeconds) return;
  drawn_ = now;
  clear();
  const std::string last = metrics.empty() ? "" : cat("  ", metrics);
  // Lines of one loop line up.
  const std::string time = padded(duration(seconds), 5), speed = padded(rate(seconds), 8);
  out_ << fitting({cat(label_, "  ", done_, unit_, " in ", time, "  ", speed, last),
                   cat(label_, " in ", time, last), cat(label_, last)})
       << '\n'
       << std::flush;
}

void ProgressBar::clear() {
  if (shown_) out_ << "\r\x1b[2K" << std::flush;
  shown_ = false;
}

}  // namespace espalier
