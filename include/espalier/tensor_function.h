// Functions and lists of tensors: what control flow, transforms, layers and models take and give.
#pragma once

#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "espalier/tensor.h"

namespace espalier {

using Tensors = std::vector<Tensor>;

// What layers and models take: one tensor, as an op does, or a list of them, {a, b}. It remembers the line of
// the user's call.
class TensorList {
 public:
  TensorList() = default;
  template <class T>
  requires(std::is_convertible_v<const T&, Operand> && !std::is_same_v<T, Operand>)
      TensorList(const T& tensor, Location at = Location::here())
      : TensorList(Operand(tensor, at)) {}
  TensorList(const Operand& tensor);
  TensorList(Tensors tensors, Location at = Location::here()) : tensors_(std::move(tensors)), at_(at) {}
  TensorList(std::initializer_list<Tensor> tensors, Location at = Location::here())
      : tensors_(tensors), at_(at) {}

  const Tensors& tensors() const { return tensors_; }
  size_t size() const { return tensors_.size(); }
  const Tensor& operator[](size_t i) const { return tensors_[i]; }
  // False for no tensor, and for one that holds nothing.
  bool defined() const { return !tensors_.empty() && tensors_[0].defined(); }
  Location at() const { return at_; }

 private:
  Tensors tensors_;
  Location at_;
};

namespace detail {

// Raises ValueError[function.arguments].
[[noreturn]] void wrong_argument_count(size_t takes, size_t got);
// Raises ValueError[function.empty].
[[noreturn]] void empty_function();

template <class F, class Indices>
struct CallableWith;
template <class F, size_t... I>
struct CallableWith<F, std::index_sequence<I...>> {
  template <size_t>
  using Argument = const Tensor&;
  static constexpr bool value = std::is_invocable_v<const F&, Argument<I>...>;
  static decltype(auto) call(const F& f, [[maybe_unused]] std::span<const Tensor> x) { return f(x[I]...); }
};

// The number of tensors that F takes, up to eight; -1 when it takes a list, -2 when neither.
template <class F, size_t N = 0>
constexpr int tensor_arity() {
  if constexpr (std::is_invocable_v<const F&, std::span<const Tensor>> ||
                std::is_invocable_v<const F&, const Tensors&>) {
    return -1;
  } else if constexpr (CallableWith<F, std::make_index_sequence<N>>::value) {
    return static_cast<int>(N);
  } else if constexpr (N < 8) {
    return tensor_arity<F, N + 1>();
  } else {
    return -2;
  }
}

// Calls f with a list or with its elements.
template <class F>
decltype(auto) call_with(const F& f, std::span<const Tensor> x) {
  constexpr int kArity = tensor_arity<F>();
  if constexpr (std::is_invocable_v<const F&, std::span<const Tensor>>) {
    return f(x);
  } else if constexpr (kArity == -1) {
    return f(Tensors(x.begin(), x.end()));
  } else {
    if (x.size() != kArity) wrong_argument_count(kArity, x.size());
    return CallableWith<F, std::make_index_sequence<kArity>>::call(f, x);
  }
}

}  // namespace detail

template <class F>
concept TensorCallable = detail::tensor_arity<std::decay_t<F>>()
!= -2;
// What a callable returns, whichever way it takes its tensors.
template <TensorCallable F>
using TensorResult = std::decay_t<decltype(detail::call_with(std::declval<const std::decay_t<F>&>(),
                                                             std::declval<std::span<const Tensor>>()))>;
template <class F>
concept ReturnsTensor = TensorCallable<F> && std::is_same_v<TensorResult<F>, Tensor>;

// A function from tensors to tensors, made from anything that is called with a list (std::span<const Tensor>
// or const Tensors&) or with up to eight Tensors (not `auto`), and that returns Tensors, one Tensor or a
// bool, which counts as bool[]. Calling one made from a function of n tensors with another number raises
// ValueError[function.arguments].
class TensorFunction {
 public:
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, TensorFunction> && TensorCallable<F>) TensorFunction(F&& f)
      : call_([f = std::forward<F>(f)](std::span<const Tensor> x) -> Tensors {
          if constexpr (requires { f.operator bool(); }) {
            if (!f) detail::empty_function();
          }
          if constexpr (std::is_same_v<TensorResult<F>, bool>) {
            return {Tensor::scalar(detail::call_with(f, x))};
          } else if constexpr (ReturnsTensor<F>) {
            return {detail::call_with(f, x)};
          } else {
            return detail::call_with(f, x);
          }
        }) {}

  Tensors operator()(std::span<const Tensor> inputs) const { return call_(inputs); }
  // f(x, y).
  template <class... T>
  requires(sizeof...(T) > 0 && (std::is_convertible_v<const T&, Tensor> && ...)) Tensors operator()(
      const T&... inputs) const {
    const Tensor list[] = {inputs...};
    return call_(list);
  }

 private:
  std::function<Tensors(std::span<const Tensor>)> call_;
};

}  // namespace espalier
