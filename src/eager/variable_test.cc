// Variables, generators and tapes: what each call gives, and the sentences of what is refused.
#include "espalier/variable.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "eager/generator.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "espalier/tape.h"
#include "ir/builder.h"
#include "ir/sink.h"

namespace espalier {
namespace {

template <class F>
std::string sentence_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule() + ": " + error.message();
  }
  return "";
}
using Numbers = std::vector<float>;

TEST(Variables, AreNamedByTheScopeAroundThem) {
  EXPECT_EQ(Variable(full({}, 1), {.name = "w"}).path(), "w");
  const NameScope outer("outer");
  EXPECT_EQ(Variable(full({}, 1), {.name = "w"}).path(), "outer/w");
  const NameScope inner("inner");
  const Variable w(Tensor::of<double>({1, 2}), {.name = "w", .trainable = false});
  EXPECT_EQ(w.path(), "outer/inner/w");
  EXPECT_EQ(cat(w.type()), "f64[2]");
  EXPECT_FALSE(w.trainable());
  EXPECT_TRUE(Variable(full({}, 1)).trainable());
}

TEST(Variables, TakeValuesOfTheirType) {
  Variable w(Tensor::of<float>({1, 2}), {.name = "w"});
  EXPECT_EQ(sentence_of([&] {
              w.assign(Tensor::of<double>({1, 2}));
            }),
            "variable.dtype: variable \"w\" is f32[2], the value is f64[2]");
  EXPECT_EQ(sentence_of([&] {
              w.assign(Tensor::of<float>({1, 2, 3}));
            }),
            "variable.shape: variable \"w\" is f32[2], the value is f32[3]");
  EXPECT_EQ(sentence_of([&] { w.assign(5); }),
            "variable.shape: variable \"w\" is f32[2], the value is f32[]");
  EXPECT_EQ(w.read().to_vector<float>(), (Numbers{1, 2}));
  // Two that were given one tensor are two.
  Variable v(zeros({2}), {.name = "v"});
  const Tensor both = Tensor::of<float>({3, 4});
  v.assign(both);
  w.assign(both);
  GradientTape tape;
  const Tensor sum_of = sum(v * 2 + w * 3);
  const std::vector<Tensor> gradients = tape.gradient(sum_of, {v, w});
  EXPECT_EQ(gradients[0].to_vector<float>(), (Numbers{2, 2}));
  EXPECT_EQ(gradients[1].to_vector<float>(), (Numbers{3, 3}));
  EXPECT_EQ(sentence_of([] {
              function([](const Tensor& x) {
                const Variable inside(x, {.name = "inside"});
                return x;
              })(full({}, 1));
            }),
            "variable.traced: variable \"inside\" is created from a symbolic tensor");
}

TEST(Variables, AreReadInAnotherDTypeWithinAScope) {
  const Variable w(Tensor::of<float>({1.00390625f}), {.name = "w"}), ids(arange(2), {.name = "ids"}),
      other(full({}, 1), {.name = "other"});
  w.state()->autocast = ids.state()->autocast = true;
  {
    const AutocastScope scope(DType::kBF16);
    EXPECT_EQ(w.read().dtype(), DType::kBF16);
    EXPECT_EQ(ids.read().dtype(), DType::kI32);
    EXPECT_EQ(other.read().dtype(), DType::kF32) << "unless it asks for it";
    {
      const AutocastScope inner(DType::kF16);
      EXPECT_EQ(w.read().dtype(), DType::kF16);
    }
    EXPECT_EQ(w.read().dtype(), DType::kBF16);
  }
  EXPECT_EQ(w.read().dtype(), DType::kF32);
}

TEST(Generators, DrawWithTheirKeyAndTheNextStep) {
  Generator generator(9);
  const auto key = [] { return Tensor::scalar(uint64_t{9}); };
  const auto step = [](uint64_t n) { return Tensor::scalar(n); };
  const auto same = [](const Tensor& got, const Tensor& wanted) {
    EXPECT_EQ(got.type(), wanted.type());
    EXPECT_EQ(convert(got, DType::kF64).to_vector<double>(),
              convert(wanted, DType::kF64).to_vector<double>());
  };
  EXPECT_EQ(generator.key().item<uint64_t>(), 9u);
  same(generator.uniform({5}, -2, 7, DType::kF64), random_uniform({5}, key(), step(0), -2, 7, DType::kF64));
  same(generator.normal({5}, 3, 2, DType::kF64), random_normal({5}, key(), step(1), 3, 2, DType::kF64));
  same(generator.truncated_normal({5}, 3, 2), truncated_normal({5}, key(), step(2), 3, 2, DType::kF32));
  same(generator.integers({5}, -3, 900, DType::kI64),
       random_integers({5}, key(), step(3), -3, 900, DType::kI64));
  const Tensor logits = Tensor::of<float>({0, 1, 2, 3, 2, 1}, {2, 3});
  same(generator.categorical(logits, 7), random_categorical(logits, 7, key(), step(4)));
  same(generator.permutation(11), random_permutation(11, key(), step(5)));
  const Tensor table = reshape(arange(24), {2, 12});
  same(generator.shuffle(table, 1), shuffle(table, key(), step(6), 1));
  same(generator.shuffle(table), shuffle(table, key(), step(7), 0));
  same(generator.uniform({4}), random_uniform({4}, key(), step(8), 0, 1, DType::kF32));
  same(generator.normal({4}), random_normal({4}, key(), step(9), 0, 1, DType::kF32));
  EXPECT_EQ(generator.next_step().item<uint64_t>(), 10u);
  generator.reset(3);
  EXPECT_EQ(generator.key().item<uint64_t>(), 3u);
  EXPECT_EQ(generator.next_step().item<uint64_t>(), 0u);
  // A handle draws on, and the generator with it.
  Generator handle(generator.key_variable(), generator.step_variable());
  EXPECT_EQ(handle.next_step().item<uint64_t>(), 1u);
  EXPECT_EQ(generator.next_step().item<uint64_t>(), 2u);
}

TEST(Generators, OfARunBeginWithItsSeed) {
  for (const uint64_t seed : {0u, 17u}) {
    const RunContext context({.seed = seed});
    const RunScope scope(context);
    const Tensor key = Tensor::scalar(seed), first = Tensor::scalar(uint64_t{0}),
                 second = Tensor::scalar(uint64_t{1});
    EXPECT_EQ(random_uniform({4}).to_vector<float>(),
              random_uniform({4}, key, first, 0, 1, DType::kF32).to_vector<float>());
    EXPECT_EQ(random_normal({4}).to_vector<float>(),
              random_normal({4}, key, second, 0, 1, DType::kF32).to_vector<float>());
  }
}

TEST(Generators, AreOfTwoScalars) {
  const Variable right(Tensor::scalar(uint64_t{1})), narrow(Tensor::scalar(uint32_t{1})),
      wide(Tensor::of<uint64_t>({1}));
  EXPECT_EQ(sentence_of([&] { Generator(right, right); }), "");
  EXPECT_EQ(sentence_of([&] { Generator(right, narrow); }),
            "generator.state: key and step must be u64[], they are u64[] and u32[]");
  EXPECT_EQ(sentence_of([&] { Generator(wide, right); }),
            "generator.state: key and step must be u64[], they are u64[1] and u64[]");
}

TEST(Generators, StateIsKnownByItsName) {
  const auto is_state = [](const char* name, bool trainable) {
    return is_random_state(Variable(full({}, 1), {.name = name, .trainable = trainable}));
  };
  EXPECT_TRUE(is_state("random/key", false));
  EXPECT_TRUE(is_state("random/step", false));
  EXPECT_TRUE(is_state("dropout/random/step", false));
  EXPECT_FALSE(is_state("random/step", true));
  EXPECT_FALSE(is_state("brandom/key", false));
  EXPECT_FALSE(is_state("random/key/w", false));
  EXPECT_FALSE(is_state("step", false));
}

TEST(Tapes, SayWhatTheyDoNotTake) {
  const Tensor x = Tensor::of<float>({1, 2}), whole = arange(2);
  GradientTape tape({.persistent = true});
  EXPECT_EQ(sentence_of([&] { tape.watch(whole); }),
            "tape.watch: only floating-point tensors have gradients, got i32[2]");
  EXPECT_EQ(sentence_of([&] { tape.watch(Variable(whole, {.name = "ids"})); }),
            "tape.watch: only floating-point variables have gradients, \"ids\" is i32[2]");
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(sentence_of([&] { tape.gradient(whole, x); }),
            "tape.target: the target must be floating-point, got i32[2]");
  EXPECT_EQ(sentence_of([&] {
              tape.gradient(y, x, {.output_gradients = {x, x}});
            }),
            "tape.output_gradients: there are 2 for 1 targets");
  EXPECT_EQ(sentence_of([&] {
              tape.gradient({y, y}, {x}, {.output_gradients = {Tensor(), whole}});
            }),
            "gradient.cotangent: output gradient 1 is i32[2], the target is f32[2]");
}

TEST(Tapes, SumOverTargetsWithTheirWeights) {
  const Tensor x = Tensor::of<float>({1, 2}), other = Tensor::of<float>({5, 7, 9});
  Variable unread(zeros({3}), {.name = "unread"});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor square = x * x, cube = square * x;
  const auto gradient = [&](const std::vector<Tensor>& targets, std::vector<Tensor> weights) {
    return tape.gradient(targets, {x}, {.output_gradients = std::move(weights)})[0].to_vector<float>();
  };
  EXPECT_EQ(gradient({square}, {}), (Numbers{2, 4}));
  EXPECT_EQ(gradient({square, cube}, {}), (Numbers{5, 16}));
  EXPECT_EQ(gradient({cube, square}, {x}), (Numbers{5, 28})) << "ones for those that are missing";
  EXPECT_EQ(gradient({cube, square}, {Tensor(), x}), (Numbers{5, 20}));
  EXPECT_EQ(gradient({x}, {}), (Numbers{1, 1})) << "of itself";
  // One that stands twice, and those of which nothing depends.
  const std::vector<Tensor> all =
      tape.gradient(square, {Source(x), other, unread, x}, {.unconnected = Unconnected::kZero});
  EXPECT_EQ(all[0].to_vector<float>(), (Numbers{2, 4}));
  EXPECT_EQ(all[1].to_vector<float>(), (Numbers{0, 0, 0}));
  EXPECT_EQ(all[2].to_vector<float>(), (Numbers{0, 0, 0}));
  EXPECT_EQ(all[3].to_vector<float>(), (Numbers{2, 4}));
  const std::vector<Tensor> some = tape.gradient(square, {Source(other), unread, x});
  EXPECT_FALSE(some[0].defined());
  EXPECT_FALSE(some[1].defined());
  EXPECT_EQ(some[2].to_vector<float>(), (Numbers{2, 4}));
}

TEST(Tapes, DifferentiateEachElement) {
  const Tensor x = Tensor::of<float>({1, 2}), w = Tensor::of<float>({3, 4}),
               other = Tensor::of<float>({1, 2, 3});
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    tape.watch(w);
    const Tensor y = stack({x * x, x * 3, x * w}, 0);  // [3, 2]
    const Tensor jacobian = tape.jacobian(y, x);
    EXPECT_EQ(jacobian.shape(), (Shape{3, 2, 2}));
    EXPECT_EQ(jacobian.to_vector<float>(), (Numbers{2, 0, 0, 4, 3, 0, 0, 3, 3, 0, 0, 4}));
    EXPECT_EQ(tape.jacobian(y, w).to_vector<float>(), (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2}));
    EXPECT_FALSE(tape.jacobian(y, other).defined());
    const Tensor zero = tape.jacobian(y, other, {.unconnected = Unconnected::kZero});
    EXPECT_EQ(zero.shape(), (Shape{3, 2, 3}));
    EXPECT_EQ(zero.to_vector<float>(), Numbers(18, 0));
    EXPECT_EQ(tape.jacobian(sum(x * 0), x).shape(), (Shape{2}));
  }
  const Tensor rows = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  {
    GradientTape tape({.persistent = true});
    tape.watch(rows);
    const Tensor squares = rows * rows, sums = sum(squares, 1);
    EXPECT_EQ(tape.batch_jacobian(sums, rows).shape(), (Shape{2, 2}));
    EXPECT_EQ(tape.batch_jacobian(sums, rows).to_vector<float>(), (Numbers{2, 4, 6, 8}));
    EXPECT_EQ(tape.batch_jacobian(squares, rows).to_vector<float>(), (Numbers{2, 0, 0, 4, 6, 0, 0, 8}));
    EXPECT_FALSE(tape.batch_jacobian(sums, x).defined());
    EXPECT_EQ(sentence_of([&] { tape.batch_jacobian(sums, other); }),
              "tape.batch: target and source must have one row an example: f32[2] and [3]");
    EXPECT_EQ(sentence_of([&] { tape.batch_jacobian(sum(sums), rows); }),
              "tape.batch: target and source must have one row an example: f32[] and [2,2]");
  }
  GradientTape once;
  once.watch(x);
  const Tensor y = x * x;
  once.jacobian(y, x);
  EXPECT_EQ(sentence_of([&] { once.gradient(y, x); }),
            "tape.spent: gradient() was called before on a tape that is not persistent");
}

}  // namespace
}  // namespace espalier
