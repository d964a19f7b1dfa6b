// Arguments that a call may overwrite: `FunctionOptions::donate`.
#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "ir/sink.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

const auto add_row = [](const Tensor& cache, const Tensor& row, const Tensor& at) {
  return dynamic_update_slice(cache, row, {at, Tensor::scalar(int32_t{0})});
};
Tensor cache_of(float value) { return Tensor::of(std::vector<float>(12, value), {4, 3}); }
Tensor row_of(float value) { return Tensor::of(std::vector<float>(3, value), {1, 3}); }
Tensor place(int32_t at) { return Tensor::scalar(at); }

std::vector<float> wanted_behind(std::initializer_list<std::pair<size_t, float>> rows, float value = 0) {
  std::vector<float> out(12, value);
  for (const auto& [row, is] : rows) std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(3 * row), 3, is);
  return out;
}

// On this CPU and on a device.
template <class F>
void here_and_there(const F& f) {
  f();
  const auto device = FakeDevice::create();
  const RunContext context({.device = device.get()});
  const RunScope scope(context);
  f();
}

TEST(Donate, ALoopHandsItsCacheOn) {
  here_and_there([] {
    const auto step = function(add_row, {.donate = {0}});
    Tensor cache = cache_of(0);
    for (int i = 0; i < 4; ++i) cache = step(cache, row_of(static_cast<float>(i + 1)), place(i));
    EXPECT_EQ(cache.to_vector<float>(), wanted_behind({{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  });
}

TEST(Donate, TheResultLiesWhereTheArgumentLay) {
  if (RunContext::current().device) return;  // which may take the memory, or not
  const auto step = function(add_row, {.donate = {0}});
  const Tensor cache = cache_of(0);
  const void* const at = cache.bytes();
  const Tensor next = step(cache, row_of(1), place(0)), last = step(next, row_of(2), place(1));
  EXPECT_EQ(last.bytes(), at);
}

TEST(Donate, WhoReadsItAfterwardsHearsOfTheCall) {
  here_and_there([] {
    const auto step = function(add_row, {.name = "add_row", .donate = {0}});
    const Tensor cache = cache_of(0);
    const Location line = Location::here();
    const Tensor next = step(cache, row_of(1), place(0));
    for (const auto& read : std::vector<std::function<void()>>{
             [&] { cache.data<float>(); }, [&] { cache + 1; }, [&] { step(cache, row_of(1), place(0)); },
             [&] { cache.to_vector<float>(); }}) {
      try {
        read();
        ADD_FAILURE() << "it was read";
      } catch (const StateError& error) {
        EXPECT_EQ(error.rule(), "tensor.donated");
        EXPECT_NE(error.message().find(cat("to \"add_row\" at donate_test.cc:", line.line + 1)),
                  std::string::npos)
            << error.message();
      }
    }
    EXPECT_EQ(next.to_vector<float>(), wanted_behind({{0, 1}}));
  });
}

TEST(Donate, WhatAVariableHoldsIsCopied) {
  here_and_there([] {
    const auto step = function(add_row, {.donate = {0}});
    Variable kept(cache_of(5), {.name = "kept"});
    const Tensor next = step(kept, row_of(1), place(2));
    EXPECT_EQ(kept.read().to_vector<float>(), wanted_behind({}, 5));
    EXPECT_EQ(next.to_vector<float>(), wanted_behind({{2, 1}}, 5));
    const Tensor cache = cache_of(7);
    kept.assign(cache);
    const Tensor other = step(cache, row_of(1), place(2));
    EXPECT_EQ(kept.read().to_vector<float>(), wanted_behind({}, 7));
    EXPECT_EQ(other.to_vector<float>(), wanted_behind({{2, 1}}, 7));
  });
}

TEST(Donate, WhatATapeHoldsIsCopied) {
  const auto step = function(add_row, {.donate = {0}});
  const Tensor cache = cache_of(2);
  GradientTape tape;
  tape.watch(cache);
  const Tensor square = cache * cache, under = step(cache, row_of(1), place(0));
  const Tensor gradient = tape.gradient(square, cache);
  EXPECT_EQ(under.to_vector<float>(), wanted_behind({{0, 1}}, 2));
  EXPECT_EQ(gradient.to_vector<float>(), wanted_behind({}, 4));
  // Behind the tape, which has seen it.
  const Tensor next = step(cache, row_of(1), place(1));
  EXPECT_EQ(cache.to_vector<float>(), wanted_behind({}, 2));
  EXPECT_EQ(next.to_vector<float>(), wanted_behind({{1, 1}}, 2));
}

TEST(Donate, OneThatIsGivenTwiceIsCopied) {
  here_and_there([] {
    const auto sum =
        function([](const Tensor& a, const Tensor& b) { return a + reverse(b, {0}); }, {.donate = {0}});
    const Tensor x = Tensor::of({1.0f, 2.0f, 3.0f});
    EXPECT_EQ(sum(x, x).to_vector<float>(), (std::vector<float>{4, 4, 4}));
  });
}

// What is read of the other argument behind the first result, too.
TEST(Donate, OneThatIsGivenTwiceIsReadToTheEnd) {
  here_and_there([] {
    const auto both = function(
        [](const Tensor& a, const Tensor& b) {
          const Tensor next = a + 10;
          return std::vector<Tensor>{next, b + reduce_sum(next, {0})};
        },
        {.donate = {0}});
    const Tensor x = Tensor::of({1.0f, 2.0f, 3.0f});
    const std::vector<Tensor> out = both(x, x);
    EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{11, 12, 13}));
    EXPECT_EQ(out[1].to_vector<float>(), (std::vector<float>{37, 38, 39}));
  });
}

TEST(Donate, ATensorThatSharesTheArrayKeepsItsValues) {
  const auto step = function(add_row, {.donate = {0}});
  const Tensor cache = cache_of(3);
  const Tensor view = make_concrete(cache.node()->literal());
  const Tensor next = step(cache, row_of(1), place(0));
  EXPECT_EQ(view.to_vector<float>(), wanted_behind({}, 3));
  EXPECT_EQ(next.to_vector<float>(), wanted_behind({{0, 1}}, 3));
}

TEST(Donate, ASplatAndOneOfAnotherPlaceAreTakenAsTheyAre) {
  const auto step = function(add_row, {.donate = {0}});
  EXPECT_EQ(step(full({4, 3}, 1), row_of(2), place(0)).to_vector<float>(), wanted_behind({{0, 2}}, 1));
  const auto device = FakeDevice::create();
  const RunContext context({.device = device.get()});
  const Tensor there = make_remote(cache_of(4).node()->literal(), *device);
  EXPECT_EQ(step(there, row_of(2), place(1)).to_vector<float>(), wanted_behind({{1, 2}}, 4));
}

TEST(Donate, EachTakesTheFirstFreeResultOfItsType) {
  const auto swap = function(
      [](const Tensor& a, const Tensor& b) {
        return std::vector<Tensor>{b + 1, reduce_sum(a, {0}), a * 10};
      },
      {.donate = {0, 1}});
  Tensor a = Tensor::of({1.0f, 2.0f}), b = Tensor::of({30.0f, 40.0f});
  for (int i = 0; i < 3; ++i) {
    const float first = a.data<float>()[0], second = b.data<float>()[0];
    const std::vector<Tensor> out = swap(a, b);
    a = out[0];
    b = out[2];
    EXPECT_EQ(a.data<float>()[0], second + 1);
    EXPECT_EQ(b.data<float>()[0], first * 10);
  }
}

TEST(Donate, WhatNoResultCanTakeIsRefused) {
  const Tensor x = Tensor::of({1.0f, 2.0f});
  const auto rule = [&](std::vector<size_t> donate) {
    try {
      function([](const Tensor& a) { return reduce_sum(a, {0}); }, {.donate = std::move(donate)})(x);
      return std::string("none");
    } catch (const Error& error) {
      return error.rule();
    }
  };
  EXPECT_EQ(rule({0}), "function.donate");
  EXPECT_EQ(rule({1}), "function.donate");
  EXPECT_EQ(rule({}), "none");
  EXPECT_EQ(x.data<float>()[1], 2) << "a refused call has taken nothing";
}

}  // namespace
}  // namespace espalier
