#include "train/dataset_cursor.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace espalier {
namespace {

std::string source_name(uint64_t source) { return cat("sources/", source); }
std::string shard_prefix(uint64_t source) { return cat(source_name(source), "/shards/"); }
std::string shard_name(uint64_t source, int64_t shard) { return cat(shard_prefix(source), shard); }
std::string step_name(uint64_t step) { return cat("steps/", step); }
std::string steps_of_shard(uint64_t source, int64_t shard) {
  return cat(source_name(source), "/steps/", shard);
}

// Takes names out of a cursor.
class CursorFields {
 public:
  explicit CursorFields(const DataCursor& cursor) : cursor_(cursor) {}

  uint64_t number(const std::string& name) {
    const auto found = cursor_.numbers.find(name);
    if (found == cursor_.numbers.end()) refuse(cat("has no \"", name, "\""));
    ++taken_;
    return found->second;
  }
  // So many things that have at least one name each; 0 where nothing says it.
  uint64_t count(const std::string& name) {
    if (!cursor_.numbers.contains(name)) return 0;
    const uint64_t out = number(name);
    if (out > cursor_.numbers.size()) refuse(cat("has not the ", out, " that \"", name, "\" says"));
    return out;
  }
  // Those that have a name, in order.
  std::vector<int64_t> shards(uint64_t source) const {
    const std::string prefix = shard_prefix(source);
    std::vector<int64_t> out;
    for (auto it = cursor_.numbers.lower_bound(prefix);
         it != cursor_.numbers.end() && it->first.starts_with(prefix); ++it) {
      int64_t shard = 0;
      const char* const end = it->first.data() + it->first.size();
      const auto [last, error] = std::from_chars(it->first.data() + prefix.size(), end, shard);
      if (error != std::errc() || last != end || shard_name(source, shard) != it->first)
        refuse(cat("has \"", it->first, "\", which names no shard"));
      out.push_back(shard);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::optional<std::string> bytes(const std::string& name) {
    const auto found = cursor_.bytes.find(name);
    if (found == cursor_.bytes.end()) return std::nullopt;
    ++taken_bytes_;
    return found->second;
  }
  void end() const {
    if (taken_ != cursor_.numbers.size() || taken_bytes_ != cursor_.bytes.size())
      refuse(cat("has ", cursor_.numbers.size(), " numbers and ", cursor_.bytes.size(), " texts, ", taken_,
                 " and ", taken_bytes_, " belong to steps and sources"));
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) {
    throw FormatError("checkpoint.cursor", cat("the place in the dataset ", why));
  }
  const DataCursor& cursor_;
  size_t taken_ = 0, taken_bytes_ = 0;
};

}  // namespace

DataCursor cursor_of(const DatasetState& state) {
  DataCursor out{{{"seed", state.seed},
                  {"iteration", state.iteration},
                  {"elements", static_cast<uint64_t>(state.elements)}}};
  if (state.layout) out.numbers["layout"] = state.layout;
  if (!state.steps.empty()) out.numbers["steps"] = state.steps.size();
  for (size_t i = 0; i < state.steps.size(); ++i)
    out.numbers[step_name(i)] = static_cast<uint64_t>(state.steps[i]);
  if (!state.sources.empty()) out.numbers["sources"] = state.sources.size();
  for (size_t i = 0; i < state.sources.size(); ++i) {
    out.numbers[source_name(i)] = static_cast<uint64_t>(state.sources[i].shards);
    for (const ShardState& shard : state.sources[i].owned) {
      const std::string name = shard_name(i, shard.shard);
      out.numbers[name] = static_cast<uint64_t>(shard.elements);
      if (shard.bytes) out.bytes[name] = *shard.bytes;
      const std::string steps = steps_of_shard(i, shard.shard);
      if (!shard.steps.empty()) out.numbers[steps] = shard.steps.size();
      for (size_t k = 0; k < shard.steps.size(); ++k)
        out.numbers[cat(steps, "/", k)] = static_cast<uint64_t>(shard.steps[k]);
    }
  }
  return out;
}

DatasetState state_of(const DataCursor& cursor) {
  CursorFields fields(cursor);
  DatasetState out{fields.number("seed"), fields.number("iteration"),
                   static_cast<int64_t>(fields.number("elements"))};
  if (cursor.numbers.contains("layout")) out.layout = fields.number("layout");
  const uint64_t steps = fields.count("steps");
  for (uint64_t i = 0; i < steps; ++i) out.steps.push_back(static_cast<int64_t>(fields.number(step_name(i))));
  const uint64_t sources = fields.count("sources");
  for (uint64_t i = 0; i < sources; ++i) {
    SourceState& source = out.sources.emplace_back();
    source.shards = static_cast<int64_t>(fields.number(source_name(i)));
    for (const int64_t shard : fields.shards(i)) {
      const std::string name = shard_name(i, shard);
      ShardState& place = source.owned.emplace_back(
          ShardState{shard, static_cast<int64_t>(fields.number(name)), fields.bytes(name)});
      const std::string of_shard = steps_of_shard(i, shard);
      const uint64_t own = fields.count(of_shard);
      for (uint64_t k = 0; k < own; ++k)
        place.steps.push_back(static_cast<int64_t>(fields.number(cat(of_shard, "/", k))));
    }
  }
  fields.end();
  return out;
}

}  // namespace espalier
