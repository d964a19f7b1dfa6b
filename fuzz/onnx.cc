// Mutated ONNX models: refused with a FormatError or an UnsupportedError, or a graph that holds together.
#include "format/onnx.h"

#include "espalier/error.h"
#include "espalier/ops.h"
#include "fuzz/mutate.h"
#include "ir/builder.h"

using namespace espalier;

namespace {

bool accept(const std::string& bytes) {
  try {
    parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size()))).graph->verify();
    return true;
  } catch (const FormatError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  }
}

Tensor convolve(const Tensor& x, const Tensor& w) {
  const Tensor y = convolution(x, w, {.dimensions = channels_last(2)});
  return max_pool(relu(y), {.window = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}});
}

std::string model(const std::vector<TensorType>& types, Tensor (*f)(const Tensor&, const Tensor&)) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.input(InputKind::kArgument, "x", types[0]),
               w = builder.input(InputKind::kVariable, "w", types[1]);
  builder.result("y", f(x, w));
  return onnx_bytes(*builder.finish(), {{"w", Literal::splat(types[1], 0.5)}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      model({{DType::kF32, {2, 3}}, {DType::kF32, {3, 4}}},
            [](const Tensor& x, const Tensor& w) { return softmax(relu(dot(x, w) * 2)); }),
      model({{DType::kF32, {1, 6, 6, 2}}, {DType::kF32, {3, 3, 2, 3}}}, convolve),
      model({{DType::kI32, {2, 3}}, {DType::kF32, {5, 4}}},
            [](const Tensor& x, const Tensor& w) { return reduce_sum(take(w, x), {1}); }),
      model({{DType::kF32, {2, 3, 4}}, {DType::kF32, {4}}}, [](const Tensor& x, const Tensor& w) {
        return concatenate({layer_normalization(x, w, w), reverse(slice(x, {0, 0, 1}, {2, 3, 3}), {1})}, 2);
      })};
  return fuzz::run(argc, argv, "fuzz_onnx", seeds,
                   {"MatMul", "Reshape", "Slice", "Expand", "Split", "Pad", "Range", "Conv", "Einsum", "axes",
                    std::string("\x08\x00", 2), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                    "\xff\xff\xff\xff\x07", "\x0a\x01x", "\x12\x01y"},
                   accept);
}
