#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "validate/sketch_strings.h"
#include "validate/sketch_values.h"
#include "validate/whole_sums.h"

namespace espalier {
namespace {

TEST(ExactSum, IsExactInAnyOrder) {
  ExactSum cancelled;
  for (const double term : {1e100, 1.0, -1e100, 1e-300, 5e-324}) cancelled.add(term);
  EXPECT_EQ(cancelled.value(), 1.0);
  cancelled.add(-1);
  EXPECT_EQ(cancelled.value(), 1e-300);
  EXPECT_EQ(ExactSum().value(), 0);
  ExactSum negative;
  for (int i = 0; i < 1000; ++i) negative.add(-0.1);
  EXPECT_DOUBLE_EQ(negative.value(), -100);
  ExactSum largest;
  largest.add(std::numeric_limits<double>::max());
  largest.add(-std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(largest.value(), std::numeric_limits<double>::max());
}

// Whole numbers up to 2^60 are exact in integers.
TEST(ExactSum, OfWholeNumbersIsThatOfIntegers) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    ExactSum sum, parts[2];
    __extension__ __int128 expected = 0;
    for (int i = 0; i < 50; ++i) {
      const int64_t value = (static_cast<int64_t>(random()) >> (random() % 60)) >> 11 << (random() % 11);
      expected += value;
      sum.add(static_cast<double>(value));
      parts[random() % 2].add(static_cast<double>(value));
    }
    parts[1].merge(parts[0]);
    EXPECT_EQ(sum.value(), static_cast<double>(expected));
    EXPECT_EQ(parts[1].value(), sum.value());
    double all = 0;
    sum.for_each_part([&](double part) { all += part; });
    EXPECT_NEAR(all, sum.value(), 1e-9 * std::abs(sum.value()));
  }
}

// Near and far from each other, beyond what is summed at once, and of any size.
TEST(ExactSum, OfManyAtOnceIsThatOfEach) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> values;
    const int width = 1 + static_cast<int>(random() % 70), offset = static_cast<int>(random() % 900) - 450;
    for (size_t i = random() % 10000; i > 0; --i) {
      const double value =
          std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % width) + offset);
      values.push_back(random() % 2 ? value : random() % 50 ? -value : 0);
    }
    ExactSum sum, squares, expected, expected_squares;
    double most = 0;
    for (const double value : values) {
      expected.add(value);
      expected_squares.add_square(value);
      most = std::max(most, std::abs(value));
    }
    add_to_sums(values, most, sum, squares);
    const auto bytes = [](const ExactSum& of) {
      SketchWriter out;
      of.write(out);
      return out.take();
    };
    EXPECT_EQ(bytes(sum), bytes(expected)) << round;
    EXPECT_EQ(bytes(squares), bytes(expected_squares)) << round;
    if (values.empty()) continue;
    const auto [least, largest] = range_of(values);
    EXPECT_EQ(least, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(largest, *std::max_element(values.begin(), values.end()));
  }
}

// By sums of 128 bits; some are no multiples of the unit.
TEST(WholeSums, AreThoseOfIntegers) {
  std::mt19937_64 random(17);
  std::vector<AddWhole*> ways = {add_whole_portable};
  std::vector<RangeOf*> ranges = {range_of_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx512) {
    ways.push_back(add_whole_avx512);
    ranges.push_back(range_of_avx512);
  }
#endif
  __extension__ using Wide = __int128;
  for (int round = 0; round < 200; ++round) {
    const double unit = std::ldexp(1, static_cast<int>(random() % 100) - 50);
    std::vector<double> values(random() % (round % 8 ? 50 : WholeSums::kMostTerms + 1)), expected_others;
    Wide sum = 0, squares = 0;
    for (double& value : values) {
      const auto whole = static_cast<int64_t>(random() % (uint64_t{1} << 50)) * (random() % 2 ? 1 : -1);
      value = static_cast<double>(whole) * unit;
      if (random() % 9 == 0) {
        value += unit / 4;
        expected_others.push_back(value);
        continue;
      }
      sum += whole;
      squares += Wide{whole} * whole;
    }
    for (AddWhole* const way : ways) {
      std::vector<double> others(values.size());
      const WholeSums found = way(values.data(), values.size(), unit, 1 / unit, others.data());
      others.resize(found.others);
      EXPECT_EQ(others, expected_others);
      EXPECT_TRUE(Wide{found.sum} == sum);
      const Wide all = (Wide{found.high} << 2 * WholeSums::kHalf) +
                       (Wide{found.cross} << (WholeSums::kHalf + 1)) + Wide{found.low};
      EXPECT_TRUE(all == squares);
    }
    for (RangeOf* const range : ranges) {
      if (values.empty()) continue;
      const auto [least, most] = range(values.data(), values.size());
      EXPECT_EQ(least, *std::ranges::min_element(values));
      EXPECT_EQ(most, *std::ranges::max_element(values));
    }
  }
}

TEST(ValueCounts, OfBothZerosDoNotDependOnTheirOrder) {
  const auto bytes = [](const std::vector<double>& values) {
    ValueCounts counts(2, false);
    counts.add(values);
    SketchWriter out;
    counts.write(out);
    return out.take();
  };
  for (const double sign : {1.0, -1.0}) {
    const std::vector<double> few = {sign, 2 * sign, 3 * sign, 4 * sign};
    std::vector<double> one = few, other = few;
    one.insert(one.end(), {0.0, -0.0});
    other.insert(other.end(), {-0.0, 0.0});
    EXPECT_EQ(bytes(one), bytes(other));
  }
}

// The deviation of 0, 1, ..., n - 1 is known, and no mean changes it.
TEST(Moments, OfARunOfNumbersAreThoseOfTheFormula) {
  const int n = 1001;
  for (const double offset : {0.0, -17.0, 1.7e9, 1e15}) {
    ExactSum sum, squares, count;
    for (int i = 0; i < n; ++i) {
      sum.add(offset + i);
      squares.add_square(1, offset + i);
      count.add(1);
    }
    const Moments moments = moments_of(sum, squares, count);
    EXPECT_EQ(moments.mean, offset + (n - 1) / 2);
    EXPECT_DOUBLE_EQ(moments.variance, (double{n} * n - 1) / 12) << offset;
  }
}

std::vector<double> some_values(std::mt19937_64& random, size_t count) {
  std::lognormal_distribution<double> wide(0, 3);
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    const double value = random() % 4 ? wide(random) : static_cast<double>(random() % 20);
    out.push_back(random() % 2 ? value : -value);
  }
  return out;
}

bool equal(const ValueCounts& a, const ValueCounts& b) {
  const auto mine = a.ranges(), theirs = b.ranges();
  const auto same = [](const ValueRange& x, const ValueRange& y) {
    return x.low == y.low && x.high == y.high && x.count == y.count && x.weight == y.weight;
  };
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), same) && a.exact() == b.exact() &&
         a.moments().mean == b.moments().mean && a.moments().variance == b.moments().variance &&
         a.weighted_moments().mean == b.weighted_moments().mean;
}

TEST(ValueCounts, AreExactWhileThereIsRoom) {
  std::mt19937_64 random(5);
  std::map<double, uint64_t> expected;
  ValueCounts counts(4096, false);
  for (int i = 0; i < 20000; ++i) {
    const double value = static_cast<double>(random() % 4000) / 8 - 100;
    counts.add(value);
    ++expected[value];
  }
  counts.add(-0.0);
  ++expected[0.0];
  const std::vector<ValueRange> ranges = counts.ranges();
  ASSERT_EQ(ranges.size(), expected.size());
  size_t at = 0;
  for (const auto& [value, count] : expected) {
    EXPECT_EQ(ranges[at].low, value);
    EXPECT_EQ(ranges[at].high, value);
    EXPECT_EQ(ranges[at++].count, count);
  }
  EXPECT_TRUE(counts.exact());
}

// Not the order of the numbers, nor how they were shared out and merged, changes anything.
TEST(ValueCounts, AreTheSameInAnyOrder) {
  std::mt19937_64 random(6);
  for (const size_t most : {32, 64, 1024}) {
    for (int round = 0; round < 30; ++round) {
      std::vector<double> values = some_values(random, 20 + random() % 3000);
      ValueCounts whole(most, true);
      for (const double value : values) whole.add(value, fixed_weight(std::abs(value)));
      std::shuffle(values.begin(), values.end(), random);
      std::vector<ValueCounts> shards(1 + random() % 7, ValueCounts(most, true));
      for (const double value : values)
        shards[random() % shards.size()].add(value, fixed_weight(std::abs(value)));
      while (shards.size() > 1) {
        const size_t into = random() % (shards.size() - 1);
        shards[into].merge(shards.back());
        shards.pop_back();
      }
      EXPECT_TRUE(equal(whole, shards[0])) << most << " " << round;
      EXPECT_LE(whole.ranges().size(), most);
    }
  }
}

TEST(ValueCounts, RangesCountWhatLiesInThem) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::vector<double> values = some_values(random, 5000);
    ValueCounts counts(256, false);
    for (const double value : values) counts.add(value);
    EXPECT_FALSE(counts.exact());
    double last = -std::numeric_limits<double>::infinity();
    for (const ValueRange& range : counts.ranges()) {
      EXPECT_LE(last, range.low);
      last = range.high;
      EXPECT_EQ(std::count_if(values.begin(), values.end(),
                              [&](double value) { return value >= range.low && value <= range.high; }),
                static_cast<int64_t>(range.count));
    }
    EXPECT_EQ(counts.ranges().front().low, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(counts.ranges().back().high, *std::max_element(values.begin(), values.end()));
    long double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const auto mean = static_cast<double>(sum / static_cast<long double>(values.size()));
    for (const double value : values) squares += (static_cast<long double>(value) - mean) * (value - mean);
    EXPECT_NEAR(counts.moments().mean, mean, 1e-12 * std::abs(mean) + 1e-15);
    EXPECT_NEAR(counts.moments().variance, static_cast<double>(squares) / 5000,
                1e-12 * static_cast<double>(squares));
  }
}

// A long tail: text i occurs about 1 / (i + 1) as often as the first.
std::vector<std::string> zipf(std::mt19937_64& random, size_t count, size_t distinct) {
  std::vector<double> shares(distinct);
  for (size_t i = 0; i < distinct; ++i) shares[i] = 1 / static_cast<double>(i + 1);
  std::discrete_distribution<size_t> pick(shares.begin(), shares.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back(cat("text ", pick(random)));
  return out;
}

std::map<std::string, uint64_t> counted(const std::vector<std::string>& texts) {
  std::map<std::string, uint64_t> out;
  for (const std::string& text : texts) ++out[text];
  return out;
}

TEST(TextCounts, AreExactWhileThereIsRoom) {
  std::mt19937_64 random(8);
  const std::vector<std::string> texts = zipf(random, 20000, 1500);
  TextCounts counts(2048, 1 << 16, false);
  for (const std::string& text : texts) counts.add(text);
  counts.add("");
  const auto expected = counted(texts);
  EXPECT_TRUE(counts.exact());
  EXPECT_EQ(counts.distinct(), expected.size() + 1);
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [text, count] : expected) order.emplace_back(count, text);
  std::sort(order.rbegin(), order.rend());
  const std::vector<TextCount> top = counts.top(100, false);
  for (size_t i = 0; i < top.size(); ++i) {
    EXPECT_EQ(top[i].text, order[i].second);
    EXPECT_EQ(top[i].count, order[i].first);
    EXPECT_EQ(top[i].missed, 0u);
  }
}

TEST(TextCounts, SayHowFarTheyMayBeOff) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 10; ++round) {
    const std::vector<std::string> texts = zipf(random, 30000, 20000);
    const auto expected = counted(texts);
    std::vector<TextCounts> shards(3, TextCounts(1000, 1 << 16, false));
    for (size_t i = 0; i < texts.size(); ++i) shards[random() % 3].add(texts[i]);
    shards[0].merge(shards[1]);
    shards[0].merge(shards[2]);
    const TextCounts& counts = shards[0];
    EXPECT_FALSE(counts.exact());
    std::set<std::string> held;
    for (const TextCount& text : counts.top(100000, false)) {
      held.insert(text.text);
      EXPECT_LE(text.count, expected.at(text.text)) << text.text;
      EXPECT_GE(text.count + text.missed, expected.at(text.text)) << text.text;
    }
    for (const auto& [text, count] : expected)
      EXPECT_TRUE(held.contains(text) || count <= counts.forgotten()) << text;
    EXPECT_LT(counts.forgotten(), texts.size() / 300);
    // Frequent texts were never forgotten.
    EXPECT_EQ(counts.top(1, false)[0].text, "text 0");
    EXPECT_EQ(counts.top(1, false)[0].count, expected.at("text 0"));
    const auto distinct = static_cast<double>(expected.size());
    EXPECT_NEAR(static_cast<double>(counts.distinct()), distinct, 5 * counts.distinct_error() * distinct);
  }
}

TEST(TextCounts, MergeInAnyOrder) {
  std::mt19937_64 random(10);
  const std::vector<std::string> texts = zipf(random, 20000, 30000);
  std::vector<TextCounts> shards(7, TextCounts(500, 1 << 14, true));
  for (size_t i = 0; i < texts.size(); ++i) shards[i % 7 < 6 ? i % 7 : 0].add(texts[i], fixed_weight(0.1));
  shards[6].add("alone", fixed_weight(1));
  const auto all_of = [](const TextCounts& counts) {
    std::string out = cat(counts.distinct(), " ", counts.forgotten());
    for (const TextCount& text : counts.top(100000, true))
      out += cat("; ", text.text, " ", text.count, " ", text.missed, " ", text.weight);
    return out;
  };
  std::string first;
  std::vector<size_t> order(7);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<TextCounts> parts;
    for (const size_t i : order) parts.push_back(shards[i]);
    while (parts.size() > 1) {
      const size_t into = random() % (parts.size() - 1);
      parts[into].merge(parts.back());
      parts.pop_back();
    }
    if (round == 0) first = all_of(parts[0]);
    EXPECT_EQ(all_of(parts[0]), first);
  }
}

PlacedTexts placed(const std::vector<std::string>& texts) {
  PlacedTexts out;
  for (const std::string& text : texts) out.write(text);
  return out;
}

// Texts by where they lie, the first ones with too few bytes before them to be read like the others.
TEST(TextCounts, OfABlockAreThoseOfEach) {
  std::mt19937_64 random(13);
  std::string block;
  std::vector<std::pair<size_t, size_t>> places;
  for (int i = 0; i < 20000; ++i) {
    const size_t size = random() % 4 ? random() % 18 : random() % 60;
    places.emplace_back(block.size(), size);
    for (size_t k = 0; k < size; ++k) block += static_cast<char>(random() % 8 ? 'a' : '\0');
  }
  PlacedTexts texts(block.data());
  for (const auto& [at, size] : places) texts.add(std::string_view(block).substr(at, size));
  for (const size_t most : {100, 100000}) {
    TextCounts one(most, 1 << 20, false), all(most, 1 << 20, false);
    for (size_t i = 0; i < texts.size(); ++i) one.add(std::string(texts[i]));
    all.add(texts.places());
    const auto bytes = [](const TextCounts& counts) {
      SketchWriter out;
      counts.write(out);
      return out.take();
    };
    EXPECT_EQ(bytes(one), bytes(all));
    EXPECT_EQ(one.exact(), most > 100);
  }
}

// Frequent texts among rare ones, so that many are held, forgotten and held again within a few.
TEST(TextCounts, OfALongTailAreThoseOfEach) {
  std::mt19937_64 random(14);
  for (const size_t most : {40, 150, 1000, 100000}) {
    for (const size_t distinct : {300, 5000, 60000}) {
      const std::vector<std::string> texts = zipf(random, 20000, distinct);
      TextCounts one(most, 16 * most, false), all(most, 16 * most, false);
      for (const std::string& text : texts) one.add(text);
      all.add(placed(texts).places());
      SketchWriter expected, found;
      one.write(expected);
      all.write(found);
      EXPECT_EQ(found.take(), expected.take()) << most << " " << distinct;
    }
  }
}

// One text whose home is full is not taken for a free slot, the empty text least of all.
TEST(TextCounts, AFullHomeHidesNoText) {
  std::mt19937_64 random(18);
  for (const std::string& last : {std::string(), std::string("b"), std::string(40, 'c')}) {
    const size_t home = home_of(SketchKey::of(last).hash(), 64);
    std::vector<std::string> texts;
    while (texts.size() < kTagGroup) {
      const std::string text = cat("text ", random() % 1000000);
      if (home_of(SketchKey::of(text).hash(), 64) == home) texts.push_back(text);
    }
    for (int i = 0; i < 200; ++i) texts.push_back(last);
    TextCounts counts(1000, 1 << 16, false);
    counts.add(placed(texts).places());
    EXPECT_EQ(counts.distinct(), counted(texts).size()) << last;
    ASSERT_EQ(counts.top(1, false)[0].text, last);
    EXPECT_EQ(counts.top(1, false)[0].count, 200u) << last;
  }
}

// Over many sets of each size: without bias, and as far off as error() says.
TEST(DistinctHashes, EstimateHowManyThereWere) {
  std::mt19937_64 random(16);
  EXPECT_EQ(DistinctHashes().estimate(), 0u);
  for (const int count : {1, 50, 3000, 20000, 60000, 200000}) {
    const int sets = 40;
    double sum = 0, squares = 0;
    for (int set = 0; set < sets; ++set) {
      DistinctHashes whole, parts[2];
      for (int i = 0; i < count; ++i) {
        const uint64_t hash = random();
        for (const uint64_t again : {hash, hash}) whole.note(again);
        parts[hash % 2].note(hash);
      }
      const uint64_t estimate = whole.estimate();
      parts[1].merge(parts[0]);
      ASSERT_EQ(parts[1].estimate(), estimate);
      const double error = static_cast<double>(estimate) / count - 1;
      sum += error;
      squares += error * error;
    }
    const double most = DistinctHashes::error();
    EXPECT_LT(std::abs(sum / sets), 4 * most / std::sqrt(double{sets})) << count;
    EXPECT_LT(std::sqrt(squares / sets), 1.4 * most) << count;
    EXPECT_TRUE(count < 60000 || std::sqrt(squares / sets) > most / 1.5) << count;
  }
}

TEST(TextCounts, LongTextsAreCountedWithoutTheirLetters) {
  TextCounts counts(100, 1 << 14, false);
  for (int i = 0; i < 3; ++i) counts.add(std::string(5000, 'a'));
  counts.add(std::string(5000, 'b'));
  EXPECT_EQ(counts.distinct(), 2u);
  EXPECT_EQ(counts.top(2, false)[0].text, "__LARGE_BYTES__");
  EXPECT_EQ(counts.top(2, false)[0].count, 3u);
}

}  // namespace
}  // namespace espalier
