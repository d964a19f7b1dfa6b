#include "strategy/header.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "ops/collective.h"

namespace espalier {
namespace {

// The type that carries a dtype in 32-bit words.
DType carrier(DType dtype) {
  if (size_of(dtype) >= 4) return dtype;
  return is_float(dtype) ? DType::kF32 : DType::kI32;
}

Tensor to_words(const Tensor& value) {
  const Tensor wide = convert(value, carrier(value.dtype()));
  const Tensor words = wide.dtype() == DType::kI32 ? wide : bitcast_convert(wide, DType::kI32);
  return reshape(words, {words.type().elements()});
}

// Words i32[..., n] to values of `type`, with the axes before.
Tensor from_words(const Tensor& words, const TensorType& type) {
  const DType wide = carrier(type.dtype);
  Shape shape;
  for (size_t i = 0; i + 1 < words.rank(); ++i) shape.push_back(words.shape()[i]);
  for (const int64_t size : type.shape) shape.push_back(size);
  if (size_of(wide) == 8) shape.push_back(2);
  const Tensor shaped = reshape(words, shape);
  return convert(wide == DType::kI32 ? shaped : bitcast_convert(shaped, wide), type.dtype);
}

}  // namespace

void Header::add(const std::string& name, const Tensor& value, Combination combination) {
  const bool summed = combination == Combination::kSum && value.dtype() == DType::kF32;
  parts_.push_back({name, value.type(), to_words(value), summed});
}

void Header::exchange() {
  std::ranges::stable_sort(parts_, [](const Part& a, const Part& b) { return a.summed && !b.summed; });
  std::vector<Tensor> words;
  int64_t count = 0, summed = 0;
  for (Part& part : parts_) {
    part.first = count;
    count += part.words.size(0);
    if (part.summed) summed = count;
    words.push_back(part.words);
  }
  const NameScope scope("header");
  const Tensor own = words.size() == 1 ? words[0] : concatenate(words, 0);
  if (by_ == By::kGather) {
    all_ = reshape(all_gather({own}, 0, world_)[0], {world_, count});
  } else {
    const Tensor part = convert(replica_id(), DType::kI32);
    const Tensor row = reshape(own, {1, count}), none = full({world_, count}, 0, DType::kI32);
    all_ = all_reduce({dynamic_update_slice(none, row, {part, full({}, 0, DType::kI32)})})[0];
  }
  if (summed) sums_ = reduce_sum(bitcast_convert(slice(all_, {0, 0}, {world_, summed}), DType::kF32), {0});
}

const Header::Part& Header::part(const std::string& name) const {
  const auto found = std::ranges::find(parts_, name, &Part::name);
  if (found == parts_.end()) throw InternalError(cat("the header has no ", name));
  return *found;
}

Tensor Header::of_all(const Part& part) const {
  return from_words(slice(all_, {0, part.first}, {world_, part.first + part.words.size(0)}), part.type);
}

Tensor Header::of(const Part& part, int rank) const {
  const Tensor words = slice(all_, {rank, part.first}, {rank + 1, part.first + part.words.size(0)});
  return from_words(reshape(words, {part.words.size(0)}), part.type);
}

Tensor Header::combined(const std::string& name) const {
  const Part& found = part(name);
  if (!found.summed) return reduce_sum(of_all(found), {0});
  return reshape(slice(sums_, {found.first}, {found.first + found.words.size(0)}), found.type.shape);
}

std::vector<Tensor> Header::combined(const Observation& how, const std::vector<std::string>& names) const {
  std::vector<Tensor> out;
  if (how.combination == Combination::kSum || how.combination == Combination::kMaximum) {
    for (const std::string& name : names)
      out.push_back(how.combination == Combination::kSum ? combined(name)
                                                         : reduce_max(of_all(part(name)), {0}));
    return out;
  }
  for (int rank = 0; rank < (how.combination == Combination::kEqual ? 1 : world_); ++rank) {
    std::vector<Tensor> theirs;
    for (const std::string& name : names) theirs.push_back(of(part(name), rank));
    out = rank == 0 ? theirs : combine_increments(how, out, theirs);
  }
  return out;
}

}  // namespace espalier
