// How the values of an expression are computed, some rows of a table at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/expression.h"

namespace espalier::expression {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Rows {
  int64_t begin = 0, size = 0;
};
using Numbers = std::vector<double>;  // NaN is missing
using Truths = std::vector<Truth>;
struct Texts {
  std::vector<std::string_view> of;                 // null is missing
  std::vector<std::vector<std::string>> kept = {};  // what of them stands in no cell
};
// How the values of some rows are found; copies share.
template <class T>
class Of {
 public:
  Of() = default;
  template <class F>
  requires(!std::is_same_v<F, Of>) Of(F f)
      : of_(std::make_shared<const std::function<T(const Rows&)>>(std::move(f))) {}
  T operator()(const Rows& rows) const { return (*of_)(rows); }
  explicit operator bool() const { return of_ != nullptr; }

 private:
  std::shared_ptr<const std::function<T(const Rows&)>> of_;
};

enum class Type { kNumber, kText, kTruth, kUnknown };
inline std::string_view name(Type type) {
  return type == Type::kNumber ? "a number" : type == Type::kText ? "text" : "true or false";
}

// A node with its type: how its values of some rows are found. A column without any value, of no type, has
// both numbers and texts.
struct Bound {
  Type type = Type::kUnknown;
  Of<Numbers> numbers = {};
  Of<Texts> texts = {};
  Of<Truths> truths = {};
};
inline Bound bound(Of<Numbers> f) { return {.type = Type::kNumber, .numbers = std::move(f)}; }
inline Bound bound(Of<Texts> f) { return {.type = Type::kText, .texts = std::move(f)}; }
inline Bound bound(Of<Truths> f) { return {.type = Type::kTruth, .truths = std::move(f)}; }

inline double finite_or_none(double value) { return std::isfinite(value) ? value : kNone; }
inline bool is_missing(double value) { return std::isnan(value); }
inline bool is_missing(std::string_view value) { return value.data() == nullptr; }
inline bool is_missing(Truth value) { return value == Truth::kMissing; }
inline const Numbers& values(const Numbers& numbers) { return numbers; }
inline const std::vector<std::string_view>& values(const Texts& texts) { return texts.of; }
inline const Truths& values(const Truths& truths) { return truths; }

inline Truth truth(bool yes) { return yes ? Truth::kTrue : Truth::kFalse; }
inline Truth negated(Truth value) { return value == Truth::kMissing ? value : truth(value == Truth::kFalse); }

// f of the values of each row that has all of them.
template <class A, class F>
Of<Truths> tested(A a, F f) {
  return [a, f](const Rows& rows) {
    const auto of = a(rows);
    Truths out;
    for (const auto& x : values(of)) out.push_back(is_missing(x) ? Truth::kMissing : truth(f(x)));
    return out;
  };
}
template <class A, class F>
Of<Truths> tested(A a, A b, F f) {
  return [a, b, f](const Rows& rows) {
    const auto first = a(rows), second = b(rows);
    Truths out;
    for (size_t i = 0; i < values(first).size(); ++i) {
      const auto &x = values(first)[i], &y = values(second)[i];
      out.push_back(is_missing(x) || is_missing(y) ? Truth::kMissing : truth(f(x, y)));
    }
    return out;
  };
}
// What is computed from a missing number is NaN by itself.
template <class F>
Of<Numbers> computed(Of<Numbers> a, F f) {
  return [a, f](const Rows& rows) {
    Numbers out = a(rows);
    for (double& x : out) x = is_missing(x) ? kNone : finite_or_none(f(x));
    return out;
  };
}
template <class F>
Of<Numbers> computed(Of<Numbers> a, Of<Numbers> b, F f) {
  return [a, b, f](const Rows& rows) {
    Numbers out = a(rows);
    const Numbers second = b(rows);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = is_missing(out[i]) || is_missing(second[i]) ? kNone : finite_or_none(f(out[i], second[i]));
    return out;
  };
}
inline Of<Truths> joined(std::vector<Of<Truths>> all, Truth decides) {
  return [all = std::move(all), decides](const Rows& rows) {
    Truths out = all[0](rows);
    for (size_t i = 1; i < all.size(); ++i) {
      const Truths next = all[i](rows);
      for (size_t row = 0; row < out.size(); ++row) {
        if (out[row] != decides && next[row] != negated(decides)) out[row] = next[row];
      }
    }
    return out;
  };
}

template <class A>
Of<Truths> compared(const std::string& sign, A a, A b) {
  if (sign == "=") return tested(a, b, [](const auto& x, const auto& y) { return x == y; });
  if (sign == "!=") return tested(a, b, [](const auto& x, const auto& y) { return x != y; });
  if (sign == "<") return tested(a, b, [](const auto& x, const auto& y) { return x < y; });
  if (sign == "<=") return tested(a, b, [](const auto& x, const auto& y) { return x <= y; });
  if (sign == ">") return tested(a, b, [](const auto& x, const auto& y) { return x > y; });
  return tested(a, b, [](const auto& x, const auto& y) { return x >= y; });
}

inline double (*arithmetic(char sign))(double, double) {
  switch (sign) {
    case '+':
      return [](double x, double y) { return x + y; };
    case '-':
      return [](double x, double y) { return x - y; };
    case '*':
      return [](double x, double y) { return x * y; };
    case '/':
      return [](double x, double y) { return x / y; };
    default:
      return [](double x, double y) { return std::fmod(x, y); };
  }
}

template <class T>
T first_present(T a, const T& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (is_missing(a[i])) a[i] = b[i];
  }
  return a;
}
inline Texts first_present(Texts a, Texts b) {
  a.of = first_present(std::move(a.of), b.of);
  std::ranges::move(b.kept, std::back_inserter(a.kept));
  return a;
}
template <class T>
Of<T> either(Of<T> a, Of<T> b) {
  return [a, b](const Rows& rows) { return first_present(a(rows), b(rows)); };
}

}  // namespace espalier::expression
