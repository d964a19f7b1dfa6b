// The keys of a plan, each declared once: what reads, writes, documents and tests plans goes over these
// lists.
#pragma once

#include <limits>

#include "plan/plan.h"

namespace espalier {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false, open_high = false;  // the bound itself is outside

  bool holds(double value) const;
};
inline Range at_least(double low) { return {.low = low}; }
inline Range above(double low) { return {.low = low, .open_low = true}; }
inline Range between(double low, double high) { return {low, high}; }

struct Field;
using Fields = std::vector<Field>;

// A table whose key `tag` says which keys it has; or a bare value, when the first name is empty.
struct OneOf {
  std::string tag;
  std::vector<std::string> names;
  std::function<size_t()> index;
  std::function<void(size_t)> choose;  // with its defaults
  std::function<Fields()> fields;      // of the chosen one
  std::function<void()> check;         // raises what its options raise together
};
// Tables of this kind, any number of them.
struct Many {
  std::function<size_t()> size;
  std::function<void(size_t)> resize;
  std::function<OneOf(size_t)> at;
};

struct Field {
  using Target = std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::optional<double>*, char*,
                              std::string*, Dims*, std::vector<int64_t>*, std::vector<double>*,
                              std::vector<std::string>*, ClassWeights*, Fields, OneOf, Many>;
  std::string key;
  Target target;
  std::string meaning;
  Range range = {};                       // of numbers, of their elements, of a text's length in bytes
  std::vector<std::string> choices = {};  // of a text and of elements
  bool required = false;
  bool path = false;
};

// "a whole number from 1 to 1048576".
std::string allowed(const Field& field);
// All of them; they point into the plan.
Fields fields_of(TrainPlan& plan);
OneOf one_of(InitializerPlan& plan);
OneOf one_of(RatePlan& plan);
OneOf one_of(OptimizerPlan& plan);
OneOf one_of(LayerPlan& plan);
OneOf one_of(LossPlan& plan);
OneOf one_of(CallbackPlan& plan);

// For each alternative of a variant: static constexpr const char* kName and static Fields fields(T&).
template <class T>
struct Kind;

template <class... T>
OneOf one_of_variant(
    std::string tag, std::variant<T...>& value, std::function<void()> check = [] {}) {
  const auto choose = [&value](size_t index) {
    const std::function<void()> make[] = {[&value] { value.template emplace<T>(); }...};
    make[index]();
  };
  const auto fields = [&value] {
    return std::visit(
        [](auto& chosen) { return Kind<std::remove_reference_t<decltype(chosen)>>::fields(chosen); }, value);
  };
  return {std::move(tag), {Kind<T>::kName...}, [&value] { return value.index(); }, choose,
          fields,         std::move(check)};
}
template <class T>
Many many(std::vector<T>& values) {
  return {[&values] { return values.size(); }, [&values](size_t size) { values.resize(size); },
          [&values](size_t i) { return one_of(values[i]); }};
}

}  // namespace espalier
