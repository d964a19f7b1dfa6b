#include <algorithm>
#include <numeric>

#include "base/philox.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/transforms.h"
#include "ops/op_test.h"
#include "ops/rows_place.h"

namespace espalier {
namespace {

using Words = std::vector<uint32_t>;

// Known answers of the Random123 distribution (kat_vectors).
TEST(Philox, KnownAnswers) {
  const auto block = [](std::array<uint32_t, 4> counter, uint32_t k0, uint32_t k1) {
    const auto words = Philox::block(counter, k0, k1);
    return Words(words.begin(), words.end());
  };
  EXPECT_EQ(block({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(block({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, CountsBlocks) {
  EXPECT_EQ(random_bits({4}, 0, 0).to_vector<uint32_t>(),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random_bits({2}, 0, 0, DType::kU64).to_vector<uint64_t>(),
            (std::vector<uint64_t>{0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c}));
}

TEST(RandomBits, APartHasTheBitsOfTheWhole) {
  for (const DType dtype : {DType::kU32, DType::kU64}) {
    const Array whole = to_array(random_bits({5, 7}, 12345, 6, dtype));
    const Tensor part = random_bits({2, 3}, 12345, 6, dtype,
                                    {{5, 7}, {Tensor::scalar<int64_t>(2), Tensor::scalar<int64_t>(4)}});
    const Array got = to_array(part);
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(got.at({i, j}), whole.at({2 + i, 4 + j}));
    }
  }
}

// Of which axis the batch is, and how many rows it has, is known in the call; there are fewer than 9.
TEST(RandomBits, RowsHaveTheBitsOfTheirBatch) {
  constexpr int64_t kFirst = 4, kRows = 3;
  for (const size_t axis : {0, 1, 2}) {
    Shape shape{2, 5, 6};
    shape[axis] = kRows;
    RowsOfDraws known(4, {axis, 1});
    known.push_back({axis + 1, 1});  // the vmap asks once for an example and once for all
    const auto part = function([&](const Tensor& first, const Tensor& batch) -> Tensors {
      const RowsPlaceScope place(first, batch, kRows, 9, known);
      const Tensor ones = full(shape, 1);
      // Of examples each has a place of its own, wherever in them the rows are.
      const auto drop = [](const Tensor& x) { return dropout(x, 0.5, 7, 2); };
      Shape examples = shape;
      examples.insert(0, 3);
      return {random_bits(shape, 7, 2), random_bits(shape, 7, 2, DType::kU64), drop(ones),
              vmap(drop)(full(examples, 1))[0]};
    });
    for (const int64_t batch : {7, 8}) {
      Shape whole = shape;
      whole[axis] = batch;
      Shape examples = whole;
      examples.insert(0, 3);
      const Tensors wanted{random_bits(whole, 7, 2), random_bits(whole, 7, 2, DType::kU64),
                           dropout(full(whole, 1), 0.5, 7, 2), dropout(full(examples, 1), 0.5, 7, 2)};
      const Tensors got = part.call(Tensors{Tensor::scalar(kFirst), Tensor::scalar(batch)});
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t along = axis + (i == 3);
        Dims first = Dims::filled(wanted[i].rank(), 0), last = wanted[i].shape();
        first[along] = kFirst;
        last[along] = kFirst + kRows;
        EXPECT_EQ(to_array(got[i]).values, to_array(slice(wanted[i], first, last)).values)
            << "axis " << axis << " of " << batch << " rows, draw " << i;
      }
    }
  }
}

TEST(Threefry, KnownAnswers) {
  const auto words = [](uint32_t k0, uint32_t k1, uint32_t x, uint32_t y) {
    const auto out = threefry2x32(Tensor::scalar(k0), k1, x, y);
    return Words{out[0].item<uint32_t>(), out[1].item<uint32_t>()};
  };
  EXPECT_EQ(words(0, 0, 0, 0), (Words{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(words(~0u, ~0u, ~0u, ~0u), (Words{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(words(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3), (Words{0xc4923a9c, 0x483df7a0}));
}

// The same published algorithm, in double's place an exact integer walk.
OP_TEST(random_bits) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{3, 3}, Shape{}, Shape{0, 2}}) {
    for (const DType dtype : {DType::kU32}) {
      cases.push_back({.name = to_string(shape),
                       .inputs = {{.shape = {}, .int_high = 1000, .dtype = DType::kU64},
                                  {.shape = {}, .int_high = 1000, .dtype = DType::kU64}},
                       .call = [=](Inputs x) { return random_bits(shape, x[0], x[1], dtype); },
                       .oracle =
                           [=](Arrays in) {
                             Array out{{dtype, shape}, {}};
                             for (int64_t i = 0; i < num_elements(shape); ++i) {
                               const auto words = Philox::block({static_cast<uint32_t>(i / 4), 0,
                                                                 static_cast<uint32_t>(in[1].values[0]), 0},
                                                                static_cast<uint32_t>(in[0].values[0]), 0);
                               out.values.push_back(words[static_cast<size_t>(i % 4)]);
                             }
                             return out;
                           },
                       .dtypes = kAnyDType});
    }
  }
  return {cases};
}

OP_TEST(threefry2x32) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{}, Shape{0, 2}}) {
    const In fixed{.shape = shape, .int_low = 0, .int_high = 0, .dtype = DType::kU32};
    cases.push_back({.name = to_string(shape),
                     .inputs = {fixed, fixed, fixed, fixed},
                     .call = [](Inputs x) { return threefry2x32(x[0], x[1], x[2], x[3]); },
                     .oracle =
                         [shape](Arrays in) {
                           std::vector<Array> out{in[0], in[0]};
                           if (!in[0].values.empty())
                             out[0].values = {0x6b200159}, out[1].values = {0x99ba4efe};
                           return out;
                         },
                     .dtypes = kAnyDType});
  }
  return {cases};
}

struct Moments {
  double mean = 0, variance = 0, least = 1e300, most = -1e300;
  explicit Moments(const Tensor& t) {
    const Array a = to_array(t);
    const auto n = static_cast<double>(a.values.size());
    for (const double x : a.values) {
      mean += x / n;
      least = std::min(least, x);
      most = std::max(most, x);
    }
    for (const double x : a.values) variance += (x - mean) * (x - mean) / n;
  }
};

// Five standard errors of 40,000 draws.
TEST(Random, UniformAndNormalHaveTheirMoments) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const Moments u(random_uniform({200, 200}, 7, 1, -1, 3, dtype));
    EXPECT_NEAR(u.mean, 1, 5 * 1.1547 / 200 + (dtype == DType::kBF16 ? 0.01 : 0)) << name(dtype);
    EXPECT_NEAR(u.variance, 16.0 / 12, 0.04);
    EXPECT_GE(u.least, -1);
    EXPECT_LE(u.most, 3);
    const Moments z(random_normal({200, 200}, 7, 2, 1, 2, dtype));
    EXPECT_NEAR(z.mean, 1, 5 * 2.0 / 200);
    EXPECT_NEAR(z.variance, 4, 5 * 4 * std::sqrt(2.0) / 200);
    EXPECT_GT(z.most, 1 + 2 * 3.5);
  }
  const Moments unit(random_uniform({100000}, 3, 1));
  EXPECT_LT(unit.most, 1);
}

// The variance of a normal distribution cut at two deviations is 1 - 4 phi(2) / (2 Phi(2) - 1).
TEST(Random, TruncatedNormalHasItsMomentsAndBounds) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const Moments z(truncated_normal({200, 200}, 9, 1, 1, 0.5, dtype));
    const double phi = std::exp(-2.0) / std::sqrt(2 * 3.14159265358979323846);
    EXPECT_NEAR(z.mean, 1, 5 * 0.5 / 200) << name(dtype);
    EXPECT_NEAR(z.variance, 0.25 * (1 - 4 * phi / std::erf(std::sqrt(2.0))), 0.01);
    EXPECT_GE(z.least, 0);
    EXPECT_LE(z.most, 2);
    EXPECT_GT(z.most, 1.95);
  }
}

TEST(Random, UniformCountsEveryTenthAlike) {
  const Array u = to_array(random_uniform({100000}, 11, 1));
  int counts[10] = {};
  for (const double x : u.values) ++counts[static_cast<int>(x * 10)];
  double chi = 0;
  for (const int count : counts) chi += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_LT(chi, 27.9);  // 9 degrees of freedom, one in a thousand
}

// Pearson's statistic of counts against expected shares.
double chi_square(const std::vector<double>& counts, const std::vector<double>& shares) {
  const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
  double out = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    out += (counts[i] - n * shares[i]) * (counts[i] - n * shares[i]) / (n * shares[i]);
  return out;
}
std::vector<double> tally(const Tensor& x, size_t kinds) {
  std::vector<double> out(kinds);
  for (const double v : to_array(x).values) out.at(static_cast<size_t>(v)) += 1;
  return out;
}

// Over 200 seeds the statistic exceeds its 95 % quantile about 10 times: as chance has it, no more, no less.
TEST(Random, CategoricalKeepsItsShares) {
  const std::vector<double> shares{0.5, 0.3, 0.15, 0.05};
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    std::vector<double> logits;
    for (const double share : shares) logits.push_back(std::log(share) + 3);
    const Tensor x = convert(Tensor::of<double>(logits, {4}), dtype);
    // What the dtype's rounding makes of the shares.
    std::vector<double> real;
    for (const double v : to_array(x).values) real.push_back(std::exp(v - 3));
    const double total = std::accumulate(real.begin(), real.end(), 0.0);
    for (double& v : real) v /= total;
    int alarms = 0;
    for (uint64_t seed = 0; seed < 200; ++seed)
      alarms += chi_square(tally(random_categorical(x, 500, Tensor::scalar(seed), 1), 4), real) > 7.815;
    EXPECT_GE(alarms, 2) << name(dtype);
    EXPECT_LE(alarms, 22) << name(dtype);
  }
}

TEST(Random, CategoricalDrawsRareClassesAndNeverImpossibleOnes) {
  const float inf = std::numeric_limits<float>::infinity();
  // One in a million: 10 of 10,000,000 draws; five deviations are 16.
  const double rare = std::log(1e-6);
  const Tensor x = Tensor::of<float>({0, static_cast<float>(rare), -inf});
  std::vector<double> counts(3);
  for (uint64_t step = 0; step < 10; ++step) {
    const std::vector<double> some = tally(random_categorical(x, 1000000, 5, Tensor::scalar(step)), 3);
    for (size_t i = 0; i < 3; ++i) counts[i] += some[i];
  }
  EXPECT_NEAR(counts[1], 10, 16);
  EXPECT_GT(counts[1], 0);
  EXPECT_EQ(counts[2], 0);
  const Tensor rows = random_categorical(reshape(Tensor::of<float>({9, -inf, -inf, 9}), {2, 2}), 5, 5, 1);
  EXPECT_EQ(rows.to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(rows.type(), (TensorType{DType::kI32, {2, 5}}));
  EXPECT_THROW(random_categorical(zeros({3, 0}), 1, 5, 1), ShapeError);
  EXPECT_THROW(random_categorical(arange(3), 1, 5, 1), DTypeError);
}

TEST(Random, EveryPermutationIsAsLikelyAsAnyOther) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<double> counts(24);
    for (uint64_t step = 0; step < 240; ++step) {
      const auto p = random_permutation(4, Tensor::scalar(seed), Tensor::scalar(step)).to_vector<int32_t>();
      size_t code = 0;
      for (size_t i = 0; i < 4; ++i) {
        size_t smaller = 0;
        for (size_t j = i + 1; j < 4; ++j) smaller += p[j] < p[i];
        code = code * (4 - i) + smaller;
      }
      counts.at(code) += 1;
    }
    alarms += chi_square(counts, std::vector<double>(24, 1.0 / 24)) > 35.17;  // 95 % of 23 degrees
  }
  EXPECT_LE(alarms, 14);
  EXPECT_GE(alarms, 1);
}

TEST(Random, ShuffleMovesWholeSlices) {
  const Tensor x = reshape(arange(12), {2, 6});
  const Tensor y = shuffle(x, 3, 1, 1);
  const auto a = y.to_vector<int32_t>();
  std::vector<int32_t> top(a.begin(), a.begin() + 6);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(a[i + 6], top[i] + 6);
  EXPECT_NE(top, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  std::sort(top.begin(), top.end());
  EXPECT_EQ(top, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(shuffle(zeros({0, 2}), 3, 1).shape(), (Shape{0, 2}));
}

TEST(Random, IntegersAreUniformInEveryTypeAndRange) {
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI32, DType::kU64, DType::kI64}) {
    int alarms = 0;
    const int64_t low = is_unsigned_integer(dtype) ? 3 : -2;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const Tensor drawn = random_integers({300}, Tensor::scalar(seed), 1, low, low + 5, dtype);
      EXPECT_EQ(drawn.dtype(), dtype);
      alarms += chi_square(tally(convert(drawn, DType::kI64) - low, 5), std::vector<double>(5, 0.2)) > 9.488;
    }
    EXPECT_GE(alarms, 2) << name(dtype);
    EXPECT_LE(alarms, 22) << name(dtype);
  }
  const Moments wide(convert(random_integers({10000}, 1, 1, std::numeric_limits<int64_t>::min(),
                                             std::numeric_limits<int64_t>::max(), DType::kI64),
                             DType::kF64));
  EXPECT_NEAR(wide.mean / std::ldexp(1.0, 63), 0, 5 * 0.5774 / 100);
  EXPECT_NEAR(wide.variance / std::ldexp(1.0, 126), 1.0 / 3, 0.02);
  EXPECT_THROW(random_integers({2}, 1, 1, 0, 257, DType::kU8), ValueError);
  EXPECT_THROW(random_integers({2}, 1, 1, 3, 3), ValueError);
  EXPECT_THROW(random_integers({2}, 1, 1, 0, 3, DType::kF32), DTypeError);
}

OP_TEST(dropout) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{3, 4}, Shape{1}, Shape{0, 2}}) {
    cases.push_back({.name = to_string(shape),
                     .inputs = {{.shape = shape}},
                     .call = [](Inputs x) { return dropout(x[0], 0.25, 3, 4); },
                     .oracle =
                         [](Arrays in) {
                           Array out = in[0];
                           for (size_t i = 0; i < out.values.size(); ++i) {
                             const auto words = Philox::block({static_cast<uint32_t>(i / 4), 0, 4, 0}, 3, 0);
                             out.values[i] = words[i % 4] < (1u << 30) ? 0 : in[0].values[i] / 0.75;
                           }
                           return out;
                         },
                     .tolerance = {.ulp = 2}});
  }
  return {.cases = cases, .by_place = {0}};
}

TEST(Dropout, DropsTheRate) {
  const Array kept = to_array(dropout(full({40000}, 1), 0.25, 5, 1));
  EXPECT_NEAR(static_cast<double>(std::count(kept.values.begin(), kept.values.end(), 0.0)) / 40000, 0.25,
              0.011);
  EXPECT_THROW(dropout(full({1}, 1), 1.0, 5, 1), ShapeError);
}

// The bits that the whole takes: cut along rows, or batched.
TEST(Dropout, APartDropsWhatTheWholeDrops) {
  const Tensor x = full({6, 5}, 1);
  const std::vector<float> whole = dropout(x, 0.5, 7, 2).to_vector<float>();
  for (const int64_t first : {0, 1, 4}) {
    const Shard shard{{6, 5}, {Tensor::scalar<int64_t>(first), Tensor::scalar<int64_t>(0)}};
    EXPECT_EQ(dropout(full({2, 5}, 1), 0.5, 7, 2, shard).to_vector<float>(),
              std::vector<float>(whole.begin() + first * 5, whole.begin() + (first + 2) * 5));
  }
  const Tensor zero = Tensor::scalar<int64_t>(0);
  EXPECT_THROW(dropout(x, 0.5, 7, 2, {{6}, {}}), ShapeError);
  EXPECT_THROW(dropout(x, 0.5, 7, 2, {{5, 5}, {}}), ShapeError);
  EXPECT_THROW(dropout(x, 0.5, 7, 2, {{6, 5}, {zero}}), ShapeError);
}

TEST(Random, ANegativeSizeIsNamed) {
  try {
    random_bits({3, -1}, 0, 0);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "sizes must not be negative: [3,-1]");
  }
}

}  // namespace
}  // namespace espalier
