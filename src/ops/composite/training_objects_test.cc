#include "ops/op_test.h"

namespace espalier {
namespace {

// f(line of x along `axis`) for every line, written back in place.
using Line = std::vector<double>;
Oracle along(size_t axis, std::function<Line(const Line&)> f) {
  return [=](Arrays x) {
    Array out = x[0];
    const auto step = static_cast<size_t>(row_major_strides(x[0].shape())[axis]);
    const auto size = static_cast<size_t>(x[0].shape()[axis]);
    for (size_t start = 0; start < out.values.size(); ++start) {
      if (start / step % size != 0) continue;
      Line line;
      for (size_t i = 0; i < size; ++i) line.push_back(x[0].values[start + i * step]);
      line = f(line);
      for (size_t i = 0; i < size; ++i) out.values[start + i * step] = line[i];
    }
    return out;
  };
}

double sum_exp(const Line& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  return sum;
}

std::vector<OpCase> line_cases(Tensor (*call)(Operand, int64_t), const std::function<Line(const Line&)>& f,
                               Tolerance tolerance) {
  std::vector<OpCase> out;
  const auto add = [&](const Shape& shape, int64_t axis) {
    out.push_back({.name = cat(shape, " along ", axis),
                   .inputs = {{.shape = shape, .distinct = true}},
                   .call = [=](Inputs x) { return call(x[0], axis); },
                   .oracle = along(static_cast<size_t>(axis), f),
                   .tolerance = tolerance,
                   .decomposition = {.ulp = 8, .absolute = 8}});
  };
  add({2, 5}, 1);
  add({2, 3, 2}, 1);
  add({4}, 0);
  add({1, 1}, 1);
  add({0, 3}, 1);
  return out;
}

OP_TEST(softmax) {
  return {line_cases(softmax,
                     [](const Line& x) {
                       Line out;
                       for (const double v : x) out.push_back(std::exp(v) / sum_exp(x));
                       return out;
                     },
                     {.ulp = 4})};
}

OP_TEST(log_softmax) {
  return {line_cases(log_softmax,
                     [](const Line& x) {
                       Line out;
                       for (const double v : x) out.push_back(v - std::log(sum_exp(x)));
                       return out;
                     },
                     {.ulp = 4, .absolute = 4})};
}

OP_TEST(softmax_cross_entropy) {
  OpTest test;
  for (const Shape& examples : {Shape{3}, Shape{}, Shape{2, 2}, Shape{0}}) {
    Shape shape = examples;
    shape.push_back(4);
    test.cases.push_back({.name = to_string(shape),
                          .inputs = {{.shape = shape, .distinct = true},
                                     {.shape = examples, .int_low = 0, .int_high = 3, .dtype = DType::kI32}},
                          .call = [](Inputs x) { return softmax_cross_entropy(x[0], x[1]); },
                          .oracle =
                              [](Arrays x) {
                                Array out{{x[0].type.dtype, x[1].shape()}, {}};
                                for (size_t i = 0; i < x[1].values.size(); ++i) {
                                  const Line line(x[0].values.begin() + static_cast<ptrdiff_t>(4 * i),
                                                  x[0].values.begin() + static_cast<ptrdiff_t>(4 * i + 4));
                                  out.values.push_back(std::log(sum_exp(line)) -
                                                       line[static_cast<size_t>(x[1].values[i])]);
                                }
                                return out;
                              },
                          .tolerance = {.ulp = 4, .absolute = 4},
                          .decomposition = {.ulp = 8, .absolute = 8}});
  }
  return test;
}

OP_TEST(softmax_cross_entropy_gradient) {
  OpTest test;
  for (const Shape& examples : {Shape{3}, Shape{}, Shape{2, 2}, Shape{0}}) {
    Shape shape = examples;
    shape.push_back(4);
    test.cases.push_back(
        {.name = to_string(shape),
         .inputs = {{.shape = shape, .distinct = true},
                    {.shape = examples, .int_low = 0, .int_high = 3, .dtype = DType::kI32},
                    {.shape = examples}},
         .call =
             [](Inputs x) {
               return emit(*find_op("softmax_cross_entropy_gradient"), nullptr, {x[0], x[1], x[2]});
             },
         .oracle =
             [](Arrays x) {
               Array out = x[0];
               for (size_t i = 0; i < x[1].values.size(); ++i) {
                 const Line line(x[0].values.begin() + static_cast<ptrdiff_t>(4 * i),
                                 x[0].values.begin() + static_cast<ptrdiff_t>(4 * i + 4));
                 for (size_t k = 0; k < 4; ++k) {
                   const double hot = static_cast<double>(k) == x[1].values[i];
                   out.values[4 * i + k] = (std::exp(line[k]) / sum_exp(line) - hot) * x[2].values[i];
                 }
               }
               return out;
             },
         .tolerance = {.ulp = 4, .absolute = 4},
         .decomposition = {.ulp = 8, .absolute = 8}});
  }
  return test;
}

// An optimizer step: `state` arrays of the parameter's shape and dtype, then f32 scalars, then what the case
// adds.
OpCase step_case(const std::string& name, const Shape& shape, size_t state, std::vector<In> scalars,
                 OpCall call, Oracle oracle) {
  std::vector<In> inputs(state, In{.shape = shape, .low = 0.1, .high = 1});
  inputs.insert(inputs.end(), scalars.begin(), scalars.end());
  return {.name = cat(name, " ", shape),
          .inputs = inputs,
          .call = std::move(call),
          .oracle = std::move(oracle),
          .tolerance = {.ulp = 4, .absolute = 4},
          .decomposition = {.ulp = 8, .absolute = 8}};
}
In scalar(double low, double high) {
  return {.shape = {}, .low = low, .high = high, .dtype = DType::kF32, .differentiable = false};
}

OP_TEST(adam) {
  OpTest test;
  const auto add = [&](const Shape& shape, bool apply, double decay) {
    const AdamOptions options{.weight_decay = decay};
    In step{.shape = {}, .int_low = 1, .int_high = 6, .dtype = DType::kI64};
    test.cases.push_back(step_case(
        cat(apply ? "applied" : "skipped", " decay ", decay), shape, 4,
        {scalar(0.01, 0.1), step, scalar(0.5, 2)},
        [=](Inputs x) { return adam(x[0], x[1], x[2], x[3], x[4], x[5], x[6], apply, options); },
        [=](Arrays x) {
          std::vector<Array> out{x[0], x[1], x[2]};
          const double rate = x[4].values[0], step = x[5].values[0], scale = x[6].values[0];
          const double alpha = rate * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
          for (size_t i = 0; apply && i < x[0].values.size(); ++i) {
            const double g = x[3].values[i] * scale;
            double &p = out[0].values[i], &m = out[1].values[i], &v = out[2].values[i];
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            p = p * (1 - rate * decay) - alpha * m / (std::sqrt(v) + 1e-7);
          }
          return out;
        }));
  };
  add({2, 3}, true, 0);
  add({2, 3}, true, 0.1);
  add({3}, false, 0);
  add({1}, true, 0);
  add({0}, true, 0);
  return test;
}

OP_TEST(sgd) {
  OpTest test;
  const auto add = [&](const Shape& shape, bool apply, const SgdOptions& options) {
    const bool moving = options.momentum != 0;
    test.cases.push_back(step_case(
        cat(apply ? "applied" : "skipped", " momentum ", options.momentum,
            options.nesterov ? " nesterov" : ""),
        shape, 3, {scalar(0.01, 0.1), scalar(0.5, 2)},
        [=](Inputs x) { return sgd(x[0], x[1], x[2], x[3], x[4], apply, options); },
        [=](Arrays x) {
          std::vector<Array> out{x[0]};
          if (moving) out.push_back(x[1]);
          const double rate = x[3].values[0], scale = x[4].values[0];
          for (size_t i = 0; apply && i < x[0].values.size(); ++i) {
            const double d = x[2].values[i] * scale * rate;
            double& p = out[0].values[i];
            p -= p * rate * options.weight_decay;
            if (!moving) {
              p -= d;
              continue;
            }
            double& velocity = out[1].values[i];
            velocity = options.momentum * velocity - d;
            p += options.nesterov ? options.momentum * velocity - d : velocity;
          }
          return out;
        }));
  };
  add({2, 3}, true, {});
  add({2, 3}, true, {.momentum = 0.9});
  add({2}, true, {.momentum = 0.9, .nesterov = true, .weight_decay = 0.1});
  add({1}, false, {.momentum = 0.9});
  add({0}, true, {});
  return test;
}

}  // namespace
}  // namespace espalier
