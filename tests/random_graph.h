// Random graphs whose results do not depend on the order of sums, and inputs for them: what executors and
// passes are compared on. Zero and one sized axes, broadcasting, every dtype, variables with updates, regions
// that capture, composites.
#pragma once

#include <random>
#include <vector>

#include "espalier/control.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "ir/difference_test.h"

namespace espalier {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed, int nodes = 24) : random_(seed) {
    SinkScope scope(builder_);
    for (int i = 0; i < 3; ++i) fresh(any_dtype(), any_shape());
    for (int i = 0; i < nodes; ++i) step();
    const size_t results = 1 + pick(4);
    for (size_t i = 0; i < results; ++i) builder_.result(cat("y", i), any_value().tensor);
    for (const auto& [name, type] : variables_) {
      if (pick(4) == 0) continue;
      std::vector<Tensor> same;
      for (const Value& value : values_) {
        if (value.tensor.type() == type) same.push_back(value.tensor);
      }
      builder_.output(OutputKind::kUpdate, name, same[pick(2) ? same.size() - 1 : pick(same.size())]);
    }
    graph = builder_.finish();
  }

  std::shared_ptr<Graph> graph;
  std::vector<Literal> inputs;

 private:
  // `bound`: elements are integers of at most this size, so that every sum is exact; 0: anything.
  struct Value {
    Tensor tensor;
    double bound;
  };

  size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }
  const Value& any_value() {
    return values_[pick(4) ? values_.size() - 1 - pick(std::min<size_t>(values_.size(), 6))
                           : pick(values_.size())];
  }
  DType any_dtype() {
    if (pick(2)) return DType::kF32;
    return static_cast<DType>(pick(kDTypeCount));
  }
  int64_t any_size() {
    constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 17, 33, 70};
    return kSizes[pick(32) == 0 ? 0 : 1 + pick(std::size(kSizes) - 1)];
  }
  Shape any_shape() {
    Shape shape;
    for (size_t rank = pick(4); rank > 0; --rank) {
      const int64_t size = any_size();
      shape.push_back(num_elements(shape) * size > 20000 ? 1 : size);
    }
    return shape;
  }

  // A new input or constant; often small integers.
  Tensor fresh(DType dtype, const Shape& shape) {
    const TensorType type{dtype, shape};
    const bool integral = !is_float(dtype) || pick(2);
    Buffer buffer = allocate_buffer(type.bytes());
    const bool splat = pick(5) == 0;
    for (int64_t i = 0; i < type.elements(); ++i) {
      double x = integral ? static_cast<double>(pick(9)) - 4
                          : std::ldexp(static_cast<double>(random_() % 2001) - 1000.0, -6);
      if (!integral && pick(16) == 0) {
        constexpr double kSpecial[] = {0.0, -0.0, 1e-40, -1e-45, 1e30, INFINITY, -INFINITY, NAN};
        x = kSpecial[pick(8)];
      }
      if (dtype == DType::kBool) x = x > 0;
      if (is_unsigned_integer(dtype)) x = std::fabs(x);
      store_scalar(dtype, x, buffer.get() + static_cast<size_t>(i) * size_of(dtype));
    }
    Literal literal(type, buffer);
    if (splat && type.elements() > 0) literal = Literal::splat(type, buffer.get());
    Tensor tensor;
    const size_t role = pick(4);
    if (role == 0) {
      tensor = make_concrete(literal);
    } else {
      const InputKind kind = role == 1 ? InputKind::kVariable : InputKind::kArgument;
      const std::string name = cat("x", inputs.size());
      tensor = builder_.input(kind, name, type);
      if (kind == InputKind::kVariable) variables_.emplace_back(name, type);
      inputs.push_back(literal);
    }
    return keep(tensor, integral ? 4 : 0);
  }
  Tensor keep(const Tensor& tensor, double bound) {
    values_.push_back({tensor, bound});
    return tensor;
  }

  // A shape that broadcasts to `shape`.
  Shape narrower(const Shape& shape) {
    Shape out;
    for (size_t i = pick(3) ? 0 : pick(shape.size() + 1); i < shape.size(); ++i)
      out.push_back(pick(4) == 0 ? 1 : shape[i]);
    return out;
  }
  // A partner for an elementwise op: an old value of the type, or a new one that broadcasts.
  Value partner(const TensorType& type) {
    if (pick(2)) {
      for (size_t i = values_.size(); i-- > 0;) {
        if (values_[i].tensor.type() == type && pick(3) == 0) return values_[i];
      }
    }
    fresh(type.dtype, pick(2) ? type.shape : narrower(type.shape));
    return values_.back();
  }

  void step() {
    const Value value = any_value();
    const Tensor& x = value.tensor;
    const TensorType type = x.type();
    const double bound = value.bound;
    switch (pick(18)) {
      case 0:
        fresh(any_dtype(), any_shape());
        return;
      case 1:
        if (is_float(type.dtype)) {
          const Tensor unary[] = {sqrt(x), exponential(x), log(x), tanh(x), sine(x), rsqrt(x)};
          keep(unary[pick(std::size(unary))], 0);
        } else if (is_integer(type.dtype)) {
          keep(negate(x), below_zero(type, bound));
        }
        if (is_float(type.dtype) || is_signed_integer(type.dtype)) keep(pick(2) ? abs(x) : sign(x), bound);
        return;
      case 2:
      case 3:
      case 4: {
        const Value other = partner(type);
        const double both = bound && other.bound ? std::max(bound, other.bound) : 0;
        if (pick(3) == 0) {
          keep(pick(2) ? maximum(x, other.tensor) : minimum(x, other.tensor), both);
        } else if (is_float(type.dtype) || is_integer(type.dtype)) {
          const size_t which = pick(4);
          if (which == 0) keep(add(x, other.tensor), small(2 * both));
          if (which == 1) keep(subtract(x, other.tensor), below_zero(type, small(2 * both)));
          if (which == 2) keep(multiply(x, other.tensor), small(both * both));
          if (which == 3) keep(divide(x, other.tensor), 0);
        }
        return;
      }
      case 5: {
        const Value other = partner(type);
        const auto direction = static_cast<Comparison>(pick(6));
        const Tensor mask = keep(compare(x, other.tensor, direction), 1);
        const Value choice = partner(type);
        keep(select(mask, x, choice.tensor), bound && choice.bound ? std::max(bound, choice.bound) : 0);
        return;
      }
      case 6: {
        const DType to = any_dtype();
        keep(convert(x, to), is_unsigned_integer(to) || size_of(to) < 2 ? 0 : bound);
        return;
      }
      case 7: {
        Shape shape;
        for (size_t i = pick(3); i > 0; --i)
          shape.push_back(pick(8) ? 1 + static_cast<int64_t>(pick(4)) : any_size());
        for (const int64_t size : type.shape) shape.push_back(size == 1 ? any_size() : size);
        if (num_elements(shape) <= 60000) keep(broadcast_to(x, shape), bound);
        return;
      }
      case 8: {
        Shape shape;
        const int64_t n = type.elements();
        const int64_t factor = 1 + static_cast<int64_t>(pick(6));
        if (n == 0)
          shape = {0, factor};
        else if (n % factor == 0)
          shape = {factor, n / factor};
        else
          shape = {n};
        keep(reshape(x, shape), bound);
        return;
      }
      case 9: {
        Dims order = Dims::range(type.rank());
        std::shuffle(order.begin(), order.end(), random_);
        keep(transpose(x, order), bound);
        return;
      }
      case 10: {
        Dims axes;
        for (size_t i = 0; i < type.rank(); ++i) {
          if (pick(2)) axes.push_back(static_cast<int64_t>(i));
        }
        if (type.dtype == DType::kBool) {
          keep(pick(2) ? reduce_and(x, axes) : reduce_or(x, axes), 1);
        } else if (!is_float(type.dtype) || exact_sum(bound, type)) {
          keep(pick(2) ? reduce_sum(x, axes) : reduce_max(x, axes), 0);
        } else {
          keep(pick(2) ? reduce_max(x, axes) : reduce_min(x, axes), bound);
        }
        return;
      }
      case 11:
      case 12:
      case 13:
        return move(value);
      case 14:
      case 15:
        return region(value);
      case 16:
        return composite(value);
      default: {
        if (type.rank() < 1 || type.dtype == DType::kBool) return;
        if (is_float(type.dtype) && !exact_sum(4 * bound, type)) return;
        const auto axis = static_cast<int64_t>(pick(type.rank()));
        const int64_t n = 1 + static_cast<int64_t>(pick(20));
        if (type.elements() * n > 40000) return;
        const Tensor y = fresh(type.dtype, pick(2) ? Shape{type.shape[axis], n} : Shape{n, type.shape[axis]});
        if (is_float(type.dtype) && values_.back().bound == 0) return;
        const int64_t other = y.shape()[0] == type.shape[axis] ? 0 : 1;
        keep(dot_general(x, y, {.lhs_contracting = {axis}, .rhs_contracting = {other}}), 0);
        return;
      }
    }
  }

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }
  static double larger(double a, double b) { return a && b ? std::max(a, b) : 0; }
  // A value of exactly this type.
  Value same(const TensorType& type) {
    for (size_t i = values_.size(); i-- > 0;) {
      if (values_[i].tensor.type() == type && pick(3) == 0) return values_[i];
    }
    fresh(type.dtype, type.shape);
    return values_.back();
  }

  void move(const Value& value) {
    const Tensor& x = value.tensor;
    const TensorType type = x.type();
    const double bound = value.bound;
    if (type.rank() == 0) return;
    const size_t axis = pick(type.rank());
    const int64_t size = type.shape[axis];
    switch (pick(9)) {
      case 0: {
        Dims start, limit, strides;
        for (const int64_t n : type.shape) {
          start.push_back(between(0, std::max<int64_t>(n - 1, 0)));
          limit.push_back(between(std::min(start.back() + 1, n), n));
          strides.push_back(between(1, 3));
        }
        keep(slice(x, start, limit, strides), bound);
        return;
      }
      case 1: {
        Dims low, high, interior;
        Shape shape;
        for (const int64_t n : type.shape) {
          interior.push_back(between(0, pick(3) ? 0 : 2));
          const int64_t spread = n + std::max<int64_t>(n - 1, 0) * interior.back();
          low.push_back(between(-std::min<int64_t>(spread / 2, 2), 3));
          high.push_back(between(-std::min<int64_t>(spread / 2, 2), 3));
          shape.push_back(spread + low.back() + high.back());
        }
        if (num_elements(shape) > 60000) return;
        const Tensor filling = fresh(type.dtype, {});
        keep(pad(x, filling, low, high, interior), larger(bound, values_.back().bound));
        return;
      }
      case 2: {
        Shape shape = type.shape;
        shape[axis] = any_size();
        if (num_elements(shape) + type.elements() > 60000) return;
        const Tensor other = fresh(type.dtype, shape);
        const double both = larger(bound, values_.back().bound);
        keep(concatenate(pick(2) ? std::vector<Tensor>{x, other, x} : std::vector<Tensor>{other, x},
                         static_cast<int64_t>(axis)),
             both);
        return;
      }
      case 3: {
        Dims axes;
        for (size_t i = 0; i < type.rank(); ++i) {
          if (i == axis || pick(2)) axes.push_back(static_cast<int64_t>(i));
        }
        keep(reverse(x, axes), bound);
        return;
      }
      case 4: {
        if (size == 0) return;
        const Tensor rows = fresh(DType::kI32, {any_size()});
        if (type.elements() / size * rows.size(0) <= 60000)
          keep(take(x, clamp(0, rows, size - 1), static_cast<int64_t>(axis)), bound);
        return;
      }
      case 5: {
        if (type.elements() == 0) return;
        std::vector<Tensor> starts;
        Dims sizes;
        for (const int64_t n : type.shape) {
          starts.push_back(fresh(DType::kI32, {}));
          sizes.push_back(between(1, n));
        }
        keep(dynamic_slice(x, starts, sizes), bound);
        return;
      }
      case 6: {
        std::vector<Tensor> starts;
        Shape box;
        for (const int64_t n : type.shape) {
          starts.push_back(fresh(DType::kI32, {}));
          box.push_back(between(0, n));
        }
        const Value update = same({type.dtype, box});
        keep(dynamic_update_slice(x, update.tensor, starts), larger(bound, update.bound));
        return;
      }
      case 7: {
        if (size == 0) return;
        Shape shape = type.shape;
        shape[axis] = between(1, 6);
        if (num_elements(shape) > 60000) return;
        const Value updates = same({type.dtype, shape});
        const Tensor rows = fresh(DType::kI32, {shape[axis]});
        Dims others = Dims::range(type.rank());
        others.erase(axis);
        const IndexAxes axes{.window = others,
                             .collapsed = {static_cast<int64_t>(axis)},
                             .index_map = {static_cast<int64_t>(axis)},
                             .index_vector = 1};
        const bool adds = type.dtype != DType::kBool && pick(2);
        const double both = larger(bound, updates.bound);
        keep(
            adds ? scatter_add(x, rows, updates.tensor, axes) : scatter_update(x, rows, updates.tensor, axes),
            adds ? small(7 * both) : both);
        return;
      }
      default: {
        if (type.dtype == DType::kBool) return;
        const Value low = same(pick(2) ? type : TensorType{type.dtype, {}});
        const Value high = same(low.tensor.type());
        keep(clamp(low.tensor, x, high.tensor), larger(bound, larger(low.bound, high.bound)));
      }
    }
  }

  // Bodies that capture a value from outside.
  void region(const Value& value) {
    const Tensor& x = value.tensor;
    const TensorType type = x.type();
    if (type.dtype == DType::kBool || type.elements() > 2000) return;
    const Value captured = same(type);
    const Tensor& c = captured.tensor;
    const double both = larger(value.bound, captured.bound), sum = small(6 * both);
    const int64_t turns = between(0, 4);
    switch (pick(5)) {
      case 0: {
        const Tensor predicate = fresh(DType::kBool, {});
        keep(cond(
                 predicate, [&](const Tensor& y) { return y + c; },
                 [&](const Tensor& y) { return maximum(transpose(y, Dims::range(type.rank())), c); }, {x}),
             sum);
        return;
      }
      case 1: {
        const Tensor index = fresh(DType::kI32, {});
        const auto branch = [](Tensor (*op)(Operand, Operand), const Tensor& other) {
          return TensorFunction([op, other](std::span<const Tensor> y) { return Tensors{op(y[0], other)}; });
        };
        keep(switch_case(index, {branch(maximum, c), branch(add, c), branch(minimum, x)}, {x})[0], sum);
        return;
      }
      case 2:
        keep(
            fori_loop(0, turns,
                      [&](std::span<const Tensor> v) {
                        return Tensors{select(compare(v[0], 1, Comparison::kEQ), v[1] + c, maximum(v[1], c))};
                      },
                      {x})[0],
            sum);
        return;
      case 3: {
        const Tensors out =
            while_loop([&](std::span<const Tensor> v) { return compare(v[0], turns, Comparison::kLT); },
                       [&](std::span<const Tensor> v) {
                         return Tensors{v[0] + 1, maximum(v[1], c) + c};
                       },
                       {Tensor::of(std::vector<int32_t>{0}, {}), x});
        keep(out[0], 4);
        keep(out[1], sum);
        return;
      }
      default: {
        if (type.rank() == 0 || type.shape[0] == 0) return;
        const Tensor first = reduce_max(c, {0});
        auto [last, all] = scan(
            [](const Tensor& carry, const Tensor& slice) {
              return std::pair<Tensor, Tensor>{maximum(carry, slice), minimum(carry, slice)};
            },
            first, x, {.reverse = pick(2) == 1});
        keep(last, both);
        keep(all, both);
      }
    }
  }

  void composite(const Value& value) {
    const Tensor& x = value.tensor;
    const TensorType type = x.type();
    if (type.dtype == DType::kBool) return;
    const auto axis = type.rank() ? static_cast<int64_t>(pick(type.rank())) : 0;
    switch (pick(7)) {
      case 0:
        if (is_float(type.dtype)) keep(pick(2) ? relu(x) : leaky_relu(x), 0);
        return;
      case 1:
        if (is_float(type.dtype)) keep(pick(2) ? silu(x) : softplus(x), 0);
        return;
      case 2:
        keep(call([](std::span<const Tensor> y) { return Tensors{y[0] + y[0] * 2}; }, {x})[0],
             small(3 * value.bound));
        return;
      case 3:
        if (type.rank() && type.elements()) keep(argmax(x, axis), 70);
        return;
      case 4:
        if (type.rank()) keep(sort(x, axis, pick(2) == 1), value.bound);
        return;
      case 5:
        if (type.rank() && (!is_float(type.dtype) || exact_sum(value.bound, type))) keep(cumsum(x, axis), 0);
        return;
      default:
        keep(stop_gradient(x), value.bound);
    }
  }

  // What may fall below zero is no small integer of an unsigned type.
  static double below_zero(const TensorType& type, double bound) {
    return is_unsigned_integer(type.dtype) ? 0 : bound;
  }
  static double small(double bound) { return bound <= 4096 ? bound : 0; }
  // Partial sums stay below 2^24 (2^11 where 16-bit types round them).
  static bool exact_sum(double bound, const TensorType& type) {
    return bound > 0 && bound * static_cast<double>(type.elements()) < 16e6;
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<Value> values_;
  std::vector<std::pair<std::string, TensorType>> variables_;
};

}  // namespace espalier
