#include "comm/calls.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"
#include "base/hash.h"

namespace espalier {

static_assert(static_cast<int>(CallKind::kBarrier) == static_cast<int>(Collective::Kind::kBarrier));

std::string_view kind_name(CallKind kind) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "all_reduce", "all_gather", "reduce_scatter", "collective_broadcast", "barrier", "vote"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

uint64_t fingerprint(CallKind kind, const Collective& what) {
  uint64_t hash = hash_combine(hash_text(what.name), hash_text(what.type));
  hash = hash_combine(hash, what.count);
  hash = hash_combine(hash, what.element);
  if (what.call) hash = hash_combine(hash_combine(hash, what.call), hash_text(what.program));
  return hash_combine(hash, static_cast<uint64_t>(kind) << 32 | static_cast<uint32_t>(what.root));
}

std::string collective_text(CallKind kind, std::string_view name, std::string_view type, uint64_t count,
                            int root) {
  std::string text(kind_name(kind));
  if (!name.empty()) text += cat(" \"", name, "\"");
  if (kind == CallKind::kBarrier || kind == CallKind::kAny) return text;
  text += cat(" of ", count);
  if (!type.empty()) text += cat(" ", type);
  if (kind == CallKind::kBroadcast) text += cat(" from rank ", root);
  return text;
}

std::string call_text(uint64_t call, std::string_view program) {
  return call == 0 ? "" : cat("call ", call, ": \"", program, "\"");
}

void check_call(const Collective& what, int world) {
  const auto refuse = [&](const std::string& why) {
    throw ValueError("comm.call", cat(what.name, ": ", why));
  };
  if (what.element == 0 || what.count > std::numeric_limits<int64_t>::max() / what.element)
    refuse(cat(what.count, " elements of ", what.element, " bytes"));
  const bool reduces =
      what.kind == Collective::Kind::kAllReduce || what.kind == Collective::Kind::kReduceScatter;
  if (reduces && !what.reduce) refuse("a reduction without a function");
  if (what.kind == Collective::Kind::kReduceScatter && what.count % static_cast<size_t>(world) != 0)
    refuse(cat(what.count, " elements for ", world, " ranks: not as many for each"));
  if (what.kind == Collective::Kind::kBroadcast && (what.root < 0 || what.root >= world))
    refuse(cat("the root is rank ", what.root, " of ", world));
}

std::string mismatch_text(const std::vector<RankCall>& calls, int first) {
  struct Group {
    const RankCall* call;
    std::vector<size_t> ranks;
  };
  std::vector<Group> groups;
  for (size_t rank = 0; rank < calls.size(); ++rank) {
    const auto same = [&](const Group& group) { return group.call->fingerprint == calls[rank].fingerprint; };
    auto group = std::ranges::find_if(groups, same);
    if (group == groups.end()) group = groups.insert(group, {&calls[rank], {}});
    group->ranks.push_back(rank + static_cast<size_t>(first));
  }
  const bool one_call = std::ranges::all_of(
      groups, [&](const Group& group) { return group.call->call == groups[0].call->call; });
  // Of groups of one size the one of the lowest rank comes last: what the others are held against.
  std::ranges::reverse(groups);
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.ranks.size(); });
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    if (i > 0) text += i + 1 == groups.size() ? " where " : ", ";
    text += group.ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t k = 0; k < group.ranks.size(); ++k) text += cat(k > 0 ? ", " : "", group.ranks[k]);
    text += cat(group.ranks.size() == 1 ? " calls " : " call ", group.call->text);
    if (!one_call && !group.call->call.empty()) text += cat(" (", group.call->call, ")");
  }
  // Names are kept up to some length, and how large an element is not at all.
  const bool equal = std::ranges::all_of(
      groups, [&](const Group& group) { return group.call->text == groups[0].call->text; });
  return equal && one_call ? text + "; they differ in the end of a long name or the size of an element"
                           : text;
}

}  // namespace espalier
