#include "ops/op_test.h"

namespace espalier {
namespace {

OP_TEST(add) {
  return {elementwise_cases<2>([](Inputs x) { return add(x[0], x[1]); },
                               elementwise([](double a, double b) { return a + b; }), {.dtypes = kAnyDType})};
}

OP_TEST(exponential) {
  return {elementwise_cases<1>([](Inputs x) { return exponential(x[0]); },
                               elementwise([](double x) { return std::exp(x); }), {})};
}

}  // namespace
}  // namespace espalier
