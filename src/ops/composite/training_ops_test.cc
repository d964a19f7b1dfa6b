#include <random>

#include "ops/op_test.h"

namespace espalier {
namespace {

// Calls f(offsets of the elements of one line along `axis`).
void lines(const Shape& shape, int64_t axis, const std::function<void(const std::vector<size_t>&)>& f) {
  const Dims strides = row_major_strides(shape);
  for (int64_t n = 0; n < num_elements(shape); ++n) {
    if (n / strides[axis] % shape[axis] != 0) continue;
    std::vector<size_t> line;
    for (int64_t i = 0; i < shape[axis]; ++i) line.push_back(static_cast<size_t>(n + i * strides[axis]));
    f(line);
  }
}

double log_sum(const Array& x, const std::vector<size_t>& line) {
  long double sum = 0;
  for (const size_t i : line) sum += std::exp(static_cast<long double>(x.values[i]));
  return static_cast<double>(std::log(sum));
}

std::vector<OpCase> softmax_cases(Tensor (*call)(Operand, int64_t), double (*f)(double x, double log_sum)) {
  std::vector<OpCase> out;
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, int64_t>>{{{2, 3}, 1}, {{2, 3, 2}, 1}, {{1}, 0}, {{0, 3}, 1}}) {
    out.push_back({.name = to_string(shape),
                   .inputs = {{.shape = shape}},
                   .call = [call, axis = axis](Inputs x) { return call(x[0], axis); },
                   .oracle =
                       [f, axis = axis](Arrays in) {
                         Array result = in[0];
                         lines(in[0].shape(), axis, [&](const std::vector<size_t>& line) {
                           for (const size_t i : line)
                             result.values[i] = f(in[0].values[i], log_sum(in[0], line));
                         });
                         return result;
                       },
                   .tolerance = {.ulp = 2, .absolute = 8},
                   .decomposition = {.ulp = 8, .absolute = 8}});
  }
  return out;
}

OP_TEST(softmax) {
  return {softmax_cases(softmax, [](double x, double sum) { return std::exp(x - sum); })};
}
OP_TEST(log_softmax) {
  return {softmax_cases(log_softmax, [](double x, double sum) { return x - sum; })};
}

OP_TEST(logsumexp) {
  std::vector<OpCase> cases = softmax_cases(logsumexp, nullptr);
  for (size_t i = 0; i < cases.size(); ++i) {
    const int64_t axis = i == 2 ? 0 : 1;
    cases[i].oracle = [axis](Arrays in) {
      Array result{{in[0].type.dtype, in[0].shape()}, {}};
      result.type.shape.erase(static_cast<size_t>(axis));
      lines(in[0].shape(), axis,
            [&](const std::vector<size_t>& line) { result.values.push_back(log_sum(in[0], line)); });
      return result;
    };
  }
  return {cases};
}

OP_TEST(softmax_cross_entropy) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 2, 3}, Shape{1}, Shape{0, 3}}) {
    Shape examples = shape;
    examples.erase(shape.size() - 1);
    cases.push_back(
        {.name = to_string(shape),
         .inputs = {{.shape = shape},
                    {.shape = examples, .int_low = 0, .int_high = shape.back() - 1, .dtype = DType::kI32}},
         .call = [](Inputs x) { return softmax_cross_entropy(x[0], x[1]); },
         .oracle =
             [examples](Arrays in) {
               Array result{{in[0].type.dtype, examples}, {}};
               lines(in[0].shape(), static_cast<int64_t>(examples.size()),
                     [&](const std::vector<size_t>& line) {
                       const auto label = static_cast<size_t>(in[1].values[result.values.size()]);
                       result.values.push_back(log_sum(in[0], line) - in[0].values[line[label]]);
                     });
               return result;
             },
         .tolerance = {.ulp = 2, .absolute = 8},
         .decomposition = {.ulp = 8, .absolute = 8}});
  }
  return {cases};
}

OP_TEST(sigmoid_cross_entropy) {
  auto cases = elementwise_cases<2>(
      [](Inputs x) { return sigmoid_cross_entropy(x[0], x[1]); },
      elementwise([](double x, double y) { return (1 - y) * x + std::log(1 + std::exp(-x)); }),
      {.kinks = {0}, .tolerance = {.ulp = 2, .absolute = 8}});
  for (OpCase& c : cases) c.decomposition = {.ulp = 8, .absolute = 8};
  return {cases};
}

// Written from Keras' documentation, in double.
std::vector<Array> adam_oracle(Arrays in, const AdamOptions& o) {
  std::vector<Array> out{in[0], in[1], in[2]};
  const double rate = in[4].values[0], t = in[5].values[0];
  for (size_t i = 0; i < in[0].values.size(); ++i) {
    const double g = in[3].values[i] * in[6].values[0];
    const double m = o.beta_1 * in[1].values[i] + (1 - o.beta_1) * g;
    const double v = o.beta_2 * in[2].values[i] + (1 - o.beta_2) * g * g;
    const double alpha = rate * std::sqrt(1 - std::pow(o.beta_2, t)) / (1 - std::pow(o.beta_1, t));
    out[0].values[i] = in[0].values[i] * (1 - o.weight_decay * rate) - alpha * m / (std::sqrt(v) + o.epsilon);
    out[1].values[i] = m;
    out[2].values[i] = v;
  }
  return out;
}

OP_TEST(adam) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 2}}) {
    for (const AdamOptions& o : {AdamOptions{}, AdamOptions{0.8, 0.9, 1e-3, 0.1}}) {
      const In scalar{.shape = {}, .low = 0.1, .high = 1, .dtype = DType::kF32, .differentiable = false};
      cases.push_back(
          {.name = to_string(shape),
           .inputs = {{.shape = shape},
                      {.shape = shape},
                      {.shape = shape, .low = 0.1},
                      {.shape = shape},
                      scalar,
                      {.shape = {}, .int_low = 1, .int_high = 9, .dtype = DType::kI32},
                      scalar},
           .call = [o](Inputs x) { return adam(x[0], x[1], x[2], x[3], x[4], x[5], x[6], true, o); },
           .oracle = [o](Arrays in) { return adam_oracle(in, o); },
           .tolerance = {.ulp = 4, .absolute = 60}});
    }
  }
  return {cases};
}

OP_TEST(sgd) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 2}}) {
    for (const SgdOptions& o : {SgdOptions{}, SgdOptions{0.9, false, 0.1}, SgdOptions{0.5, true, 0}}) {
      const In scalar{.shape = {}, .low = 0.1, .high = 1, .dtype = DType::kF32, .differentiable = false};
      OpCase c{.name = to_string(shape),
               .inputs = {{.shape = shape}, {.shape = shape}, {.shape = shape}, scalar, scalar},
               .call = [o](Inputs x) { return sgd(x[0], x[1], x[2], x[3], x[4], true, o); },
               .oracle =
                   [o](Arrays in) {
                     std::vector<Array> out{in[0]};
                     if (o.momentum != 0) out.push_back(in[1]);
                     for (size_t i = 0; i < in[0].values.size(); ++i) {
                       const double step = in[3].values[0] * in[4].values[0] * in[2].values[i];
                       const double p = in[0].values[i] * (1 - o.weight_decay * in[3].values[0]);
                       const double v = o.momentum * in[1].values[i] - step;
                       out[0].values[i] = o.momentum == 0 ? p - step
                                          : o.nesterov    ? p + o.momentum * v - step
                                                          : p + v;
                       if (o.momentum != 0) out[1].values[i] = v;
                     }
                     return out;
                   },
               .tolerance = {.ulp = 4, .absolute = 20}};
      c.inputs[1].differentiable = o.momentum != 0;
      cases.push_back(c);
    }
  }
  return {cases};
}

}  // namespace
}  // namespace espalier
