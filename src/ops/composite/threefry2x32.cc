#include <bit>

#include "ops/elementwise.h"

namespace espalier {
namespace {

// Threefry 2x32-20: Salmon et al. (2011), as JAX uses it.
constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr uint32_t kParity = 0x1BD11BDAu;

void infer_threefry2x32(InferContext& c) {
  c.require_inputs(4);
  for (size_t i = 0; i < 4; ++i) {
    c.require_dtype(c.in(i).dtype == DType::kU32, "c1", "key words and counters must be u32, got ", c.in(i));
    c.require(c.in(i).shape == c.in(0).shape, "c2", "operands must have one shape: ", c.in(0), " and ",
              c.in(i));
  }
  c.result(c.in(0));
  c.result(c.in(0));
}

// The same rounds on words and on tensors.
template <class Word, class Rotate>
void scramble(Word& x, Word& y, const Word& key_0, const Word& key_1, Rotate rotate) {
  const Word keys[3] = {key_0, key_1, key_0 ^ key_1 ^ kParity};
  x = x + keys[0];
  y = y + keys[1];
  for (int block = 0; block < 5; ++block) {
    for (const int bits : kRotations[block % 2]) {
      x = x + y;
      y = rotate(y, bits) ^ x;
    }
    x = x + keys[(block + 1) % 3];
    y = y + keys[(block + 2) % 3] + static_cast<uint32_t>(block + 1);
  }
}

std::vector<Tensor> decompose_threefry2x32(const DecomposeContext& c) {
  Tensor x = c.in(2), y = c.in(3);
  scramble(x, y, c.in(0), c.in(1),
           [](const Tensor& t, int bits) { return shift_left(t, bits) | shift_right_logical(t, 32 - bits); });
  return {x, y};
}

void eval_threefry2x32(EvalContext& c) {
  for (int64_t i = 0; i < c.out(0).type->elements(); ++i) {
    uint32_t x = c.in(2).as<uint32_t>()[i], y = c.in(3).as<uint32_t>()[i];
    scramble(x, y, c.in(0).as<uint32_t>()[i], c.in(1).as<uint32_t>()[i],
             [](uint32_t word, int bits) { return std::rotl(word, bits); });
    c.out(0).as<uint32_t>()[i] = x;
    c.out(1).as<uint32_t>()[i] = y;
  }
}

}  // namespace

const OpDef op_threefry2x32 = {
    .name = "threefry2x32",
    .doc =
        "Threefry 2x32 with 20 rounds, elementwise, from (key word 0, key word 1, counter 0, counter 1): two "
        "random "
        "words. c1: u32 operands. c2: one shape.",
    .composite = true,
    .infer = infer_threefry2x32,
    .eval = eval_threefry2x32,
    .decompose = decompose_threefry2x32,
    .no_gradient = "the result is integers",
    .batch = batch_elementwise,
    .flops_per_output = 60,
};

std::vector<Tensor> threefry2x32(Operand key_0, Operand key_1, Operand x, Operand y) {
  CallScope scope(key_0.at());
  Tensor inputs[4] = {key_0.as(DType::kU32), key_1.as(DType::kU32), x.as(DType::kU32), y.as(DType::kU32)};
  Shape shape = inputs[0].shape();
  for (const Tensor& input : inputs) shape = broadcast_shapes("threefry2x32", shape, input.shape());
  for (Tensor& input : inputs) input = broadcast_to(input, shape);
  return emit_all(op_threefry2x32, nullptr, inputs);
}

}  // namespace espalier
