#include "launch/chaos.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr std::string_view kChaosKinds[] = {"kill", "stop", "throw", "exit"};
constexpr double kLongest = 3600;

// Takes what `sign` ends off the begin of `text`; all of it where the sign is not there.
std::string_view take_until(std::string_view& text, char sign) {
  const size_t end = text.find(sign);
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return out;
}

template <class Number>
bool is_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && text[0] != '-';
}

ChaosEvent event_of(const std::string_view part) {
  const auto refuse = [&](std::string_view why) {
    throw ValueError("chaos.syntax", cat("\"", shortened(part), "\" ", why),
                     "kill:2@step40, stop:1@step60:5s, throw:0@step9 or exit:3@step2");
  };
  ChaosEvent out;
  std::string_view rest = part;
  const std::string_view kind = take_until(rest, ':');
  const auto* at = std::ranges::find(kChaosKinds, kind);
  if (at == std::end(kChaosKinds)) refuse("does not begin with kill:, stop:, throw: or exit:");
  out.kind = static_cast<ChaosKind>(at - kChaosKinds);
  if (!is_number(take_until(rest, '@'), out.rank)) refuse("has no rank before its @");
  if (!rest.starts_with("step")) refuse("has no step behind its @");
  rest.remove_prefix(4);
  const bool lasts = rest.find(':') != rest.npos;
  if (!is_number(take_until(rest, ':'), out.step)) refuse("has no number as its step");
  if (lasts != (out.kind == ChaosKind::kStop))
    refuse(lasts ? "has a time, which is for stop" : "has no time, as in :5s");
  if (!lasts) return out;
  if (!rest.ends_with('s') || !is_number(rest.substr(0, rest.size() - 1), out.seconds) ||
      out.seconds > kLongest)
    refuse(cat("has no time from 0s to ", static_cast<int>(kLongest), "s"));
  return out;
}

}  // namespace

std::string_view name(ChaosKind kind) { return kChaosKinds[static_cast<size_t>(kind)]; }

std::vector<ChaosEvent> parse_chaos(std::string_view text, int world) {
  std::vector<ChaosEvent> out;
  if (text.empty()) return out;
  for (bool more = true; more;) {
    more = text.find(',') != text.npos;
    const std::string_view part = take_until(text, ',');
    out.push_back(event_of(part));
    if (out.back().rank >= world)
      throw ValueError("chaos.rank", cat("\"", shortened(part), "\" is for rank ", out.back().rank,
                                         ", and the run has ", counted(world, "rank")));
  }
  return out;
}

std::vector<ChaosEvent> chaos_from_environment(int rank, int world) {
  const char* text = std::getenv("ESPALIER_CHAOS");
  std::vector<ChaosEvent> out = parse_chaos(text ? text : "", world);
  std::erase_if(out, [&](const ChaosEvent& event) { return event.rank != rank; });
  return out;
}

}  // namespace espalier
