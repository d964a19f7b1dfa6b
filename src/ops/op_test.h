// The test object of an op: cases, an independent oracle, and one call that checks everything an op promises.
//
//   OP_TEST(add) {
//     return {elementwise_cases<2>([](Inputs x) { return add(x[0], x[1]); },
//                                  elementwise([](double a, double b) { return a + b; }), {.dtypes =
//                                  kAnyDType})};
//   }
//
// registers the object for the completeness test and runs check_op() on it as the test Op.add,
// check_zero_sizes() as ZeroSizes.add, check_on_device() as OnDevice.add.
#pragma once

#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "ops/elementwise.h"

namespace espalier {

// Values as the oracle sees them: what the tensor holds, after rounding to its dtype.
struct Array {
  TensorType type;
  std::vector<double> values;

  const Shape& shape() const { return type.shape; }
  double at(const Dims& index) const;
};

// One input of a case and how it is drawn. `dtype` fixes its element type; without one it takes the dtype
// under test. Floats lie in [low, high], at least `gap` away from each of `kinks`; integers in [int_low,
// int_high] (unsigned: from 0); bool is a coin. `distinct` spreads values over the interval, no two equal.
struct In {
  Shape shape;
  double low = -2, high = 2;
  int64_t int_low = -5, int_high = 5;
  std::vector<double> kinks = {};
  double gap = 0.05;
  bool distinct = false;
  std::optional<DType> dtype = {};
  bool differentiable = true;
};

using Inputs = std::span<const Tensor>;
using Arrays = std::span<const Array>;

// A call of the op's public function: f(inputs) or f(inputs, dtype under test), giving a Tensor or several.
class OpCall {
 public:
  template <class F>
  requires std::invocable<F, Inputs> || std::invocable<F, Inputs, DType> OpCall(F f)
      : call_([f](Inputs x, DType dtype) {
          if constexpr (std::invocable<F, Inputs>) {
            return all(f(x));
          } else {
            return all(f(x, dtype));
          }
        }),
        takes_dtype_(!std::invocable<F, Inputs>) {}
  std::vector<Tensor> operator()(Inputs x, DType dtype) const { return call_(x, dtype); }
  bool takes_dtype() const { return takes_dtype_; }

 private:
  static std::vector<Tensor> all(Tensor t) { return {std::move(t)}; }
  static std::vector<Tensor> all(std::vector<Tensor> t) { return t; }
  std::function<std::vector<Tensor>(Inputs, DType)> call_;
  bool takes_dtype_;
};

// The expected results, computed in double without the library: f(arrays) or f(arrays, dtype
// under test), giving an Array or several. The
// dtype and shape of the Array are checked too; values are rounded to its dtype (integers wrap, bool is value
// != 0).
class Oracle {
 public:
  template <class F>
  requires std::invocable<F, Arrays> || std::invocable<F, Arrays, DType> Oracle(F f)
      : f_([f](Arrays x, DType dtype) {
          if constexpr (std::invocable<F, Arrays>) {
            return all(f(x));
          } else {
            return all(f(x, dtype));
          }
        }) {}
  std::vector<Array> operator()(Arrays x, DType dtype = DType::kF64) const { return f_(x, dtype); }

 private:
  static std::vector<Array> all(Array a) { return {std::move(a)}; }
  static std::vector<Array> all(std::vector<Array> a) { return a; }
  std::function<std::vector<Array>(Arrays, DType)> f_;
};

// f on each element, its arguments broadcast by NumPy's rules; the result has `result` or the first input's
// dtype.
Oracle elementwise(std::function<double(double)> f, std::optional<DType> result = {});
Oracle elementwise(std::function<double(double, double)> f, std::optional<DType> result = {});
Oracle elementwise(std::function<double(double, double, double)> f, std::optional<DType> result = {});

// An error is allowed up to `ulp` units in the last place of the expected value plus `absolute` times the
// dtype's epsilon (2^-52 for f64, 2^-23, 2^-10, 2^-7). Integers and bool are always exact.
struct Tolerance {
  double ulp = 1;
  double absolute = 0;
};

struct OpCase {
  std::string name;
  std::vector<In> inputs;
  OpCall call;
  Oracle oracle;
  // The dtypes that are taken; every other must be refused by DTypeError or ShapeError [<op>.cN]. A case
  // whose inputs all have a fixed dtype and whose call takes none runs once.
  unsigned dtypes = kFloats;
  Tolerance tolerance = {};
  // Allowed between a composite's own reference body and its decomposition.
  Tolerance decomposition = {.ulp = 4, .absolute = 4};
  const char* no_gradient = nullptr;      // the reason
  const char* no_second_order = nullptr;  // the reason
};

struct OpTest {
  std::vector<OpCase> cases;
  const char* no_zero_size = nullptr;  // the reason why no case has an axis of size zero
  const char* no_size_one = nullptr;   // the reason why no case has a single element
  const char* no_kernel = nullptr;     // the reason why no case reaches the op's kernel
  // Inputs of the op that its batching rule may refuse (UnsupportedError).
  std::vector<size_t> unbatched = {};
  // Inputs of which a batch, where no other is batched, is no stack of its examples: each draws by its place.
  std::vector<size_t> by_place = {};
};

// Cases of an op of `kInputs` equal shapes: [2,3], a scalar, [1], [1,1,1], [0,3], and broadcasting for two.
struct ElementwiseOptions {
  double low = -2, high = 2;
  int64_t int_low = -5, int_high = 5;
  std::vector<double> kinks = {};
  unsigned dtypes = kFloats;
  Tolerance tolerance = {};
  const char* no_gradient = nullptr;
  const char* no_second_order = nullptr;
};
std::vector<OpCase> elementwise_cases(size_t inputs, const OpCall& call, const Oracle& oracle,
                                      const ElementwiseOptions& options);
template <size_t kInputs>
std::vector<OpCase> elementwise_cases(const OpCall& call, const Oracle& oracle,
                                      const ElementwiseOptions& options) {
  return elementwise_cases(kInputs, call, oracle, options);
}

// Checks, by gtest expectations, for every case:
// - the forward pass against the oracle in all 13 dtypes, the labelled refusal of those not taken;
// - the same call traced: verify() holds, its interpretation has the same bytes, and so has its plan with
// fused
//   tiles and kernels; where a kernel adds in another order (docs/numerics.md), the plan is held against the
//   oracle by the case's tolerance;
// - in f64: the gradient by central differences, along a random direction and for every element of small
// inputs; the
//   second order, also with respect to the cotangent; the rule under undefined cotangents and partial wants;
// - batching: for each subset of inputs the rule equals stacked single calls;
// - composites: the reference body and gradient equal those of the decomposition, which ends in primitives;
// and that some case has an axis of size zero and some a single element.
void check_op(const OpDef& op, const OpTest& test);
// Checks each case with each axis of size 0, alone and together with others, as far as the op's rule takes
// it: eagerly, through plans and in the interpreter results are alike and nothing is written beside them; so
// are the reference body and the kernel alone, a composite's decomposition and, in f64, the gradient. At
// least one call must be taken.
void check_zero_sizes(const OpDef& op, const OpTest& test);
// Checks the cases against the oracle on a device, by a PJRT plugin (pjrt/plugin_test.h), in f32, or the
// first dtype that they take; in all of them where ESPALIER_TEST_DTYPES is set. Skips where there is no
// plugin.
void check_on_device(const OpDef& op, const OpTest& test);

// The pieces, for ops with needs of their own.
std::vector<Tensor> draw_inputs(const OpCase& c, DType dtype, uint64_t seed);
Array to_array(const Tensor& tensor);
void expect_close(const Tensor& got, const Array& expected, Tolerance tolerance, const std::string& what);

using MakeOpTest = OpTest (*)();
bool register_op_test(const OpDef& op, MakeOpTest make);
bool has_op_test(const OpDef& op);
// By the names of their ops.
const std::map<std::string_view, MakeOpTest>& op_tests();

}  // namespace espalier

#define OP_TEST(name)                                                                              \
  static ::espalier::OpTest op_test_##name();                                                      \
  [[maybe_unused]] static const bool op_test_registered_##name =                                   \
      ::espalier::register_op_test(::espalier::op_##name, op_test_##name);                         \
  TEST(Op, name) { ::espalier::check_op(::espalier::op_##name, op_test_##name()); }                \
  TEST(ZeroSizes, name) { ::espalier::check_zero_sizes(::espalier::op_##name, op_test_##name()); } \
  TEST(OnDevice, name) { ::espalier::check_on_device(::espalier::op_##name, op_test_##name()); }   \
  static ::espalier::OpTest op_test_##name()
