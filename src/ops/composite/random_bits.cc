#include "base/philox.h"
#include "ops/drawn_again.h"
#include "ops/elementwise.h"
#include "ops/movement.h"
#include "ops/rows_place.h"

namespace espalier {
namespace {

struct RandomBitsAttributes final : Attributes {
  Shape shape, global_shape;
  DType dtype = DType::kU32;
  void fields(FieldVisitor& v) override {
    v.field("shape", shape);
    v.field("global_shape", global_shape);
    v.field("dtype", dtype);
  }
  bool wide() const { return dtype == DType::kU64; }
};

void infer_random_bits(InferContext& c) {
  const auto& a = c.attributes<RandomBitsAttributes>();
  const size_t rank = a.shape.size();
  c.require(c.size() == 2 || c.size() == 2 + rank || c.size() == 2 + 2 * rank, "arity",
            "takes key, step and no offsets or one for each of ", rank,
            " axes, behind them no sizes of the whole or one for each, got ", c.size(), " inputs");
  for (size_t i = 0; i < c.size(); ++i) {
    const DType dtype = i < 2 ? DType::kU64 : DType::kI64;
    c.require_dtype(c.in(i).dtype == dtype, "c1",
                    i < 2 ? "key and step must be u64, got " : "offsets and sizes must be i64, got ",
                    c.in(i));
    c.require(c.in(i).rank() == 0, "c1", "key, step, offsets and sizes must be scalars, got ", c.in(i));
  }
  c.require(a.global_shape.size() == rank, "c2", "the global shape must have the rank of ", a.shape, ", got ",
            a.global_shape);
  for (size_t i = 0; i < rank; ++i) {
    c.require(a.shape[i] >= 0, "c2", "sizes must not be negative: ", a.shape);
    c.require(a.shape[i] <= a.global_shape[i], "c2", "a part must not exceed the whole: ", a.shape, " of ",
              a.global_shape);
  }
  c.require_dtype(a.dtype == DType::kU32 || a.dtype == DType::kU64, "c3", "gives u32 or u64, not ", a.dtype);
  c.result({a.dtype, a.shape});
}

Tensor low_word(const Tensor& x) { return convert(x & 0xFFFFFFFFu, DType::kU32); }
Tensor high_word(const Tensor& x) { return convert(shift_right_logical(x, 32), DType::kU32); }

// The position of each element in the row-major order of the global shape.
Tensor positions(const DecomposeContext& c) {
  const auto& a = c.attributes<RandomBitsAttributes>();
  const size_t rank = a.shape.size();
  const bool sized = c.inputs.size() > 2 + rank;
  const Dims strides = row_major_strides(a.global_shape);
  std::vector<Tensor> sized_strides(rank);
  Tensor next = Tensor::scalar(uint64_t{1});
  for (size_t i = rank; sized && i-- > 0;) {
    sized_strides[i] = next;
    next = next * convert(c.in(2 + rank + i), DType::kU64);
  }
  const TensorType type{DType::kU64, a.shape};
  Tensor index = constant_like(type, 0);
  for (size_t i = 0; i < rank; ++i) {
    Tensor along = iota(type, static_cast<int64_t>(i));
    if (c.inputs.size() > 2) along = along + convert(c.in(2 + i), DType::kU64);
    index = index + (sized ? along * sized_strides[i] : along * strides[i]);
  }
  return index;
}

std::vector<Tensor> decompose_random_bits(const DecomposeContext& c) {
  const auto& a = c.attributes<RandomBitsAttributes>();
  const Tensor index = positions(c), block = shift_right_logical(index, a.wide() ? 1 : 2);
  const auto spread = [&](const Tensor& t) { return broadcast_to(t, a.shape); };
  Tensor w[4] = {low_word(block), high_word(block), spread(low_word(c.in(1))), spread(high_word(c.in(1)))};
  Tensor key_0 = low_word(c.in(0)), key_1 = high_word(c.in(0));
  for (int round = 0; round < Philox::kRounds; ++round) {
    const Tensor p = convert(w[0], DType::kU64) * Philox::kMultiplier[0];
    const Tensor q = convert(w[2], DType::kU64) * Philox::kMultiplier[1];
    w[0] = high_word(q) ^ w[1] ^ key_0;
    w[1] = low_word(q);
    w[2] = high_word(p) ^ w[3] ^ key_1;
    w[3] = low_word(p);
    key_0 = key_0 + Philox::kWeyl[0];
    key_1 = key_1 + Philox::kWeyl[1];
  }
  const Tensor odd = compare(index & 1, 1, Comparison::kEQ);
  if (a.wide()) {
    const auto join = [](const Tensor& low, const Tensor& high) {
      return convert(low, DType::kU64) | shift_left(convert(high, DType::kU64), 32);
    };
    return {select(odd, join(w[2], w[3]), join(w[0], w[1]))};
  }
  const Tensor upper = compare(index & 2, 2, Comparison::kEQ);
  return {select(upper, select(odd, w[3], w[2]), select(odd, w[1], w[0]))};
}

void eval_random_bits(EvalContext& c) {
  const auto& a = c.attributes<RandomBitsAttributes>();
  const uint64_t key = *c.in(0).as<uint64_t>(), step = *c.in(1).as<uint64_t>();
  const size_t rank = a.shape.size();
  Shape whole = a.global_shape;
  for (size_t i = 2 + rank; i < c.inputs.size(); ++i) whole[i - 2 - rank] = *c.in(i).as<int64_t>();
  const Dims strides = row_major_strides(whole);
  uint64_t base = 0;
  for (size_t i = 0; c.inputs.size() > 2 && i < rank; ++i)
    base += static_cast<uint64_t>(*c.in(2 + i).as<int64_t>()) * static_cast<uint64_t>(strides[i]);
  uint64_t current = 0;
  std::array<uint32_t, 4> words{};
  bool known = false;
  const int shift = a.wide() ? 1 : 2;
  walk(a.shape, strides, 0, [&](int64_t i, int64_t offset) {
    const uint64_t index = base + static_cast<uint64_t>(offset), block = index >> shift;
    if (!known || block != current) {
      words = Philox::block({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                             static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                            static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
      current = block;
      known = true;
    }
    if (a.wide()) {
      const size_t lane = index % 2 * 2;
      c.out(0).as<uint64_t>()[i] = words[lane] | uint64_t{words[lane + 1]} << 32;
    } else {
      c.out(0).as<uint32_t>()[i] = words[index % 4];
    }
  });
}

}  // namespace

const OpDef op_random_bits = {
    .name = "random_bits",
    .doc =
        "Uniform random bits from (key, step, offset of each axis): Philox 4x32-10 with the words of `key`. "
        "The element "
        "at position i of `global_shape`, row-major, is word i mod 4 of the block with counter (i div 4, "
        "step); a u64 "
        "element is the pair of words i mod 2 of block i div 2, low word first. The offsets place `shape` "
        "inside of "
        "`global_shape`, so the bits do not depend on how the whole is cut. Behind the offsets may stand the "
        "sizes of a whole that is known in the call alone, in place of `global_shape`, which is no smaller. "
        "c1: u64 scalars key and step, i64 scalar "
        "offsets and sizes, all or none of each. c2: a part of the whole. c3: u32 or u64.",
    .composite = true,
    .attributes = make_attributes<RandomBitsAttributes>,
    .infer = infer_random_bits,
    .eval = eval_random_bits,
    .decompose = decompose_random_bits,
    .no_gradient = "the result is integers",
    .flops_per_output = 30,
};

Tensor random_bits(const Shape& shape, Operand key, Operand step, DType dtype, const Shard& given) {
  CallScope scope(key.at());
  return drawn_bits(shape, key, step, dtype,
                    given.global_shape.empty() ? drawn_part(shape) : DrawnPart{given});
}

Tensor drawn_bits(const Shape& shape, Operand key, Operand step, DType dtype, const DrawnPart& part) {
  auto attributes = std::make_shared<RandomBitsAttributes>();
  attributes->shape = shape;
  attributes->global_shape = part.global_shape.empty() ? shape : part.global_shape;
  attributes->dtype = dtype;
  std::vector<Tensor> inputs{convert(key.as(DType::kU64), DType::kU64),
                             convert(step.as(DType::kU64), DType::kU64)};
  for (const Tensor& offset : part.offsets) inputs.push_back(convert(offset, DType::kI64));
  inputs.insert(inputs.end(), part.sizes.begin(), part.sizes.end());
  return emit(op_random_bits, attributes, inputs);
}

std::optional<Tensor> random_bits_again(const Node& node, std::span<const Tensor> inputs) {
  if (node.op != &op_random_bits) return std::nullopt;
  const auto& a = static_cast<const RandomBitsAttributes&>(*node.attributes);
  if (a.global_shape != a.shape || inputs.size() > 2) return std::nullopt;  // knows its place
  return random_bits(a.shape, inputs[0], inputs[1], a.dtype);
}

}  // namespace espalier
