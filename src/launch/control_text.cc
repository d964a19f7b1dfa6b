#include "launch/control_text.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/shortened.h"

namespace espalier {
namespace {

constexpr const char* kStageTexts[] = {
    "before its first step",  "waiting for input in step ", "tracing step ",        "in step ",   "in step ",
    "in a callback of step ", "in evaluation of step ",     "in the save of step ", "after step "};

// Between calls a program of one's own does whatever it likes.
constexpr const char* kCallTexts[] = {
    "before its first call", "waiting for input in ", "tracing ", "in ", "in ", "behind ",
    "in evaluation behind ", "in the save behind ",   "behind "};

constexpr size_t kShownValue = 100;

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::string out;
  for (size_t i = 0, end; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (end - i < 3) end = i + 1;
    out += cat(i == 0 ? "" : ", ", ranks[i]);
    if (end - i > 1) out += cat("-", ranks[end - 1]);
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", out);
}

std::string seconds_text(double seconds) {
  const auto tenths = static_cast<int64_t>(seconds * 10 + 1e-6);
  if (tenths >= 100 || tenths % 10 == 0) return cat(tenths / 10, " s");
  return cat(tenths / 10, ".", tenths % 10, " s");
}

std::string step_text(const StageReport& at) {
  if (at.function.empty()) return cat("step ", at.number);
  return cat("call ", at.number, " of \"", printable(at.function), "\"");
}

std::string stage_text(const StageReport& at) {
  if (!at.function.empty()) {
    const std::string text = kCallTexts[static_cast<size_t>(at.stage)];
    return text.ends_with(' ') ? text + step_text(at) : text;
  }
  if (at.stage == Stage::kCallback && at.number == 0) return "in a callback before its first step";
  const std::string text = kStageTexts[static_cast<size_t>(at.stage)];
  return text.ends_with(' ') ? cat(text, at.number) : text;
}

std::string mismatch_text(const std::map<int, std::map<std::string, std::string>>& facts, int& odd) {
  std::set<std::string> all;
  for (const auto& [rank, of] : facts) {
    for (const auto& [key, value] : of) all.insert(key);
  }
  // Other versions may say other facts.
  std::vector<std::string> keys(all.begin(), all.end());
  std::ranges::stable_partition(keys, [](const std::string& key) { return key == "version"; });
  odd = -1;
  for (const std::string& key : keys) {
    std::map<std::string, std::vector<int>> ranks_of;
    std::vector<std::string> order;
    for (const auto& [rank, of] : facts) {
      const auto at = of.find(key);
      const std::string value = at == of.end() ? "not set" : at->second;
      if (!ranks_of.contains(value)) order.push_back(value);
      ranks_of[value].push_back(rank);
    }
    if (order.size() < 2) continue;
    std::string out = printable(key);
    for (size_t i = 0; i < order.size(); ++i) {
      const std::vector<int>& ranks = ranks_of[order[i]];
      out += cat(i == 0                 ? " is "
                 : i + 1 < order.size() ? ", "
                                        : " and ",
                 printable(order[i].substr(0, kShownValue)), " on ", ranks_text(ranks));
      if (order.size() == 2 && ranks.size() == 1 && facts.size() > 2) odd = ranks[0];
    }
    return out;
  }
  return {};
}

}  // namespace espalier
