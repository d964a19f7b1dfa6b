#include "cli/workload_models.h"

#include <cmath>

#include "base/format.h"
#include "espalier/espalier.h"

namespace espalier::cli {

WorkloadBatches image_batches(const Shape& example) {
  using W = WorkloadBatches;
  W out;
  Generator random(7);
  Shape shape = example;
  shape.insert(0, W::kImages);
  for (int64_t i = 0; i < W::kCount; ++i) {
    out.x.push_back(random.uniform(shape));
    const Tensor flat = reshape(out.x.back(), {W::kImages, -1});
    out.y.push_back(argmax(slice(flat, {0, 0}, {W::kImages, W::kClasses}), 1));
  }
  return out;
}

WorkloadBatches text_batches() {
  using G = CharGptModel;
  WorkloadBatches out;
  Generator random(7);
  for (int64_t i = 0; i < WorkloadBatches::kCount; ++i) {
    out.x.push_back(random.integers({G::kRows, G::kContext}, 0, G::kVocabulary));
    out.y.push_back(remainder(out.x.back() * 7 + 3, G::kVocabulary));
  }
  return out;
}

Sequential mlp_model(DTypePolicy dtype) {
  return Sequential{Dense({.units = 128, .activation = "relu", .dtype = dtype}),
                    Dense({.units = WorkloadBatches::kClasses, .dtype = dtype})};
}

Sequential cnn_model(DTypePolicy dtype) {
  return Sequential{Conv2D({.filters = 32, .kernel_size = {3, 3}, .activation = "relu", .dtype = dtype}),
                    MaxPooling2D({.dtype = dtype}),
                    Conv2D({.filters = 64, .kernel_size = {3, 3}, .activation = "relu", .dtype = dtype}),
                    MaxPooling2D({.dtype = dtype}),
                    Flatten(dtype),
                    Dense({.units = WorkloadBatches::kClasses, .dtype = dtype})};
}

void CharGptModel::build(const TensorType&) {
  const auto normal = [&](const std::string& name, const Shape& shape, double deviation) {
    add_weight(name, shape, initializers::RandomNormal({.stddev = deviation}));
  };
  const auto norm = [&](const std::string& scale, const std::string& offset) {
    add_weight(scale, {kWidth}, "ones");
    add_weight(offset, {kWidth}, "zeros");
  };
  normal("tokens", {kVocabulary, kWidth}, 0.02);
  normal("positions", {kContext, kWidth}, 0.02);
  norm("scale", "offset");
  const double root = 1 / std::sqrt(double{kWidth});
  for (int64_t i = 0; i < kLayers; ++i) {
    const auto dense = [&](const char* name, int64_t inputs, int64_t outputs, double deviation) {
      normal(cat(name, i), {inputs, outputs}, deviation);
      add_weight(cat(name, "_bias_", i), {outputs}, "zeros");
    };
    norm(cat("scale_1_", i), cat("offset_1_", i));
    dense("qkv", kWidth, 3 * kWidth, root);
    dense("out", kWidth, kWidth, root);
    norm(cat("scale_2_", i), cat("offset_2_", i));
    dense("up", kWidth, 4 * kWidth, root);
    dense("down", 4 * kWidth, kWidth, root / 2);
  }
}

Tensor CharGptModel::call(const Tensor& ids) {
  constexpr int64_t kDepth = kWidth / kHeads;
  const int64_t rows = ids.size(0);
  const Variable tokens = weight("tokens");
  const auto norm = [&](const Tensor& x, const std::string& scale, const std::string& offset) {
    return layer_normalization(x, weight(scale), weight(offset), 1e-5);
  };
  const Tensor mask = tril(ones({kContext, kContext}, DType::kBool));
  Tensor x = take(tokens, ids) + weight("positions");
  for (int64_t i = 0; i < kLayers; ++i) {
    const auto dense = [&](const Tensor& inputs, const char* name) {
      return matmul(inputs, weight(cat(name, i))) + weight(cat(name, "_bias_", i));
    };
    const Tensor normed = norm(x, cat("scale_1_", i), cat("offset_1_", i));
    const std::vector<Tensor> parts =
        unstack(reshape(dense(normed, "qkv"), {rows, kContext, 3, kHeads, kDepth}), 2);
    const Tensor scores = einsum("bthd,bshd->bhts", {parts[0], parts[1]}) * (1 / std::sqrt(double{kDepth}));
    const Tensor shares = softmax(where(mask, scores, -1e30));
    const Tensor mixed = reshape(einsum("bhts,bshd->bthd", {shares, parts[2]}), {rows, kContext, kWidth});
    x = x + dense(mixed, "out");
    const Tensor inner = norm(x, cat("scale_2_", i), cat("offset_2_", i));
    x = x + dense(gelu(dense(inner, "up"), true), "down");
  }
  return matmul(norm(x, "scale", "offset"), transpose(tokens));
}

}  // namespace espalier::cli
