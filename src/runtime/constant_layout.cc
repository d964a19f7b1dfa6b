#include "runtime/constant_layout.h"

#include <algorithm>
#include <map>

#include "passes/pass.h"

namespace espalier {
namespace {

// A constant of at least this size keeps its buffer; smaller ones are laid out together.
constexpr size_t kLargeConstant = 1 << 16;

using SplatKey = std::pair<uint64_t, size_t>;  // bits and width of an element

SplatKey splat_key(const Literal& literal) {
  uint64_t bits = 0;
  const size_t width = size_of(literal.type().dtype);
  std::memcpy(&bits, literal.raw(), width);
  return {bits, width};
}

struct LaidOutSplat {
  uint64_t offset, bytes;
  const Literal* literal;
};

}  // namespace

const void* ConstantLayout::elements(const Graph& graph, ValueId root) const {
  const auto it = places.find(root);
  if (it == places.end() || graph.type(root).bytes() == 0) return nullptr;
  const auto [slot, offset] = it->second;
  const Buffer& buffer = slot == kConstantSlot ? small : large[slot - kFirstFixedSlot];
  return buffer.get() + offset;
}

ConstantLayout lay_out_constants(const Graph& graph, std::span<const ValueId> constants) {
  ConstantLayout out;
  std::map<SplatKey, LaidOutSplat> splats;
  std::unordered_map<const std::byte*, Ref> known;
  std::vector<std::pair<const Literal*, uint64_t>> dense;
  const auto reserve = [&](uint64_t size) {
    const uint64_t offset = out.small_bytes;
    out.small_bytes += (size + 63) / 64 * 64;
    return offset;
  };
  for (const ValueId root : constants) {
    const Literal& literal = *constant_of(graph, root);
    const size_t bytes = graph.type(root).bytes();
    if (bytes == 0) {
      out.places[root] = {kConstantSlot, 0};
    } else if (literal.is_splat()) {
      LaidOutSplat& splat =
          splats.try_emplace(splat_key(literal), LaidOutSplat{0, 0, &literal}).first->second;
      splat.bytes = std::max<uint64_t>(splat.bytes, bytes);
    } else {
      auto [it, added] = known.try_emplace(literal.buffer().get());
      if (added && bytes >= kLargeConstant) {
        it->second = {kFirstFixedSlot + static_cast<uint32_t>(out.large.size()), 0};
        out.large.push_back(literal.buffer());
        out.large_bytes += bytes;
      } else if (added) {
        it->second = {kConstantSlot, reserve(bytes)};
        dense.emplace_back(&literal, it->second.offset);
      }
      out.places[root] = it->second;
    }
  }
  for (auto& [key, splat] : splats) splat.offset = reserve(splat.bytes);
  out.small = allocate_buffer(out.small_bytes);
  for (const auto& [literal, offset] : dense)
    std::memcpy(out.small.get() + offset, literal->raw(), literal->raw_bytes());
  for (const auto& [key, splat] : splats) {
    fill_elements(out.small.get() + splat.offset, splat.literal->raw(), key.second,
                  static_cast<int64_t>(splat.bytes / key.second));
  }
  for (const ValueId root : constants) {
    const Literal& literal = *constant_of(graph, root);
    if (literal.is_splat() && graph.type(root).bytes())
      out.places[root] = {kConstantSlot, splats.at(splat_key(literal)).offset};
  }
  return out;
}

}  // namespace espalier
