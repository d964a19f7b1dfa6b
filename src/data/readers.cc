#include "data/readers.h"

#include <algorithm>
#include <cstring>

namespace espalier {

void append(std::string& text, int64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}
int64_t take(std::string_view& text) {
  int64_t number = 0;
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return number;
}

namespace {

void append_all(std::string& text, const std::vector<int64_t>& numbers) {
  append(text, static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) append(text, number);
}
std::vector<int64_t> take_all(std::string_view& text) {
  std::vector<int64_t> out(static_cast<size_t>(take(text)));
  for (int64_t& number : out) number = take(text);
  return out;
}

void append_text(std::string& text, std::string_view more) {
  append(text, static_cast<int64_t>(more.size()));
  text += more;
}
std::string_view take_text(std::string_view& text) {
  const auto size = static_cast<size_t>(take(text));
  const std::string_view out = text.substr(0, size);
  text.remove_prefix(size);
  return out;
}

}  // namespace

std::vector<std::string> Readers::texts(std::string_view name, std::string mine) const {
  if (count == 1) return {mine};
  std::string size;
  append(size, static_cast<int64_t>(mine.size()));
  const std::string sizes = gather(name, size);
  std::vector<int64_t> each;
  for (std::string_view left = sizes; !left.empty();) each.push_back(take(left));
  const auto room = static_cast<size_t>(std::ranges::max(each));
  mine.resize(room);
  const std::string all = room ? gather(name, mine) : "";
  std::vector<std::string> out;
  for (size_t i = 0; i < each.size(); ++i) out.push_back(all.substr(i * room, static_cast<size_t>(each[i])));
  return out;
}

std::string packed(const std::vector<TensorType>& types) {
  std::string out;
  for (const TensorType& type : types) {
    append(out, static_cast<int64_t>(type.dtype));
    append(out, static_cast<int64_t>(type.rank()));
    for (const int64_t size : type.shape) append(out, size);
  }
  return out;
}
std::vector<TensorType> types_in(std::string_view text) {
  std::vector<TensorType> out;
  while (!text.empty()) {
    TensorType& type = out.emplace_back();
    type.dtype = static_cast<DType>(take(text));
    for (int64_t rank = take(text); rank > 0; --rank) type.shape.push_back(take(text));
  }
  return out;
}

std::string packed(const std::vector<ShardState>& states) {
  std::string out;
  for (const ShardState& state : states) {
    append(out, state.shard);
    append(out, state.elements);
    append_all(out, state.steps);
    append(out, state.bytes.has_value());
    append_text(out, state.bytes.value_or(""));
  }
  return out;
}
void add_states(std::string_view text, std::vector<ShardState>& out) {
  while (!text.empty()) {
    ShardState& state = out.emplace_back();
    state.shard = take(text);
    state.elements = take(text);
    state.steps = take_all(text);
    const bool has_bytes = take(text) != 0;
    const std::string_view bytes = take_text(text);
    if (has_bytes) state.bytes = bytes;
  }
}

std::string packed(const DatasetState& state) {
  std::string out;
  append(out, state.elements);
  append(out, static_cast<int64_t>(state.layout));
  append_all(out, state.steps);
  for (const SourceState& source : state.sources) {
    append(out, source.shards);
    append_text(out, packed(source.owned));
  }
  return out;
}
DatasetState state_in(std::string_view text) {
  DatasetState out;
  out.elements = take(text);
  out.layout = static_cast<uint64_t>(take(text));
  out.steps = take_all(text);
  while (!text.empty()) {
    SourceState& source = out.sources.emplace_back();
    source.shards = take(text);
    add_states(take_text(text), source.owned);
  }
  return out;
}

}  // namespace espalier
