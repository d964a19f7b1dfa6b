// Distances are SciPy's, planted shifts are found, and of equal laws and trifles nothing is said.
#include "evaluate/drift.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/philox.h"
#include "evaluate/wasserstein.h"

namespace espalier {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json of_scipy = Json::parse(std::ifstream("tests/golden/drift.json"));
  return of_scipy;
}

// As tests/golden/drift.py has it.
std::vector<double> sample(int64_t seed, int64_t count, double shift, double ties) {
  std::vector<double> out;
  int64_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    state = (state * 1103515245 + 12345) % (int64_t{1} << 31);
    const double value = static_cast<double>(state) / static_cast<double>(int64_t{1} << 31) + shift;
    out.push_back(ties > 0 ? std::floor(value * ties) : value);
  }
  std::ranges::sort(out);
  return out;
}

TEST(Drift, DistancesAreSciPys) {
  for (const Json& pair : golden()["pairs"]) {
    const auto a = sample(pair["seed"], pair["n"], 0, pair["ties"]);
    const auto b = sample(pair["seed"].get<int64_t>() + 1, pair["m"], pair["shift"], pair["ties"]);
    const KolmogorovSmirnov ks = kolmogorov_smirnov(a, b);
    EXPECT_NEAR(ks.distance, pair["ks"].get<double>(), 1e-12);
    // SciPy's law is that of one sample of the effective size; the corrected limit is near it.
    EXPECT_NEAR(ks.p, pair["ks_p"].get<double>(), 0.01 + 0.05 * pair["ks_p"].get<double>());
    EXPECT_NEAR(wasserstein(a, b), pair["wasserstein"].get<double>(), 1e-12);
    EXPECT_EQ(kolmogorov_smirnov(b, a).distance, ks.distance);
  }
  for (const Json& table : golden()["tables"]) {
    const auto a = table["a"].get<std::vector<int64_t>>(), b = table["b"].get<std::vector<int64_t>>();
    const ChiSquare chi = chi_square(a, b).value();
    EXPECT_NEAR(chi.statistic, table["statistic"].get<double>(), 1e-9);
    EXPECT_NEAR(chi.p, table["p"].get<double>(), 1e-9);
    EXPECT_EQ(chi.degrees, table["degrees"].get<int64_t>());
  }
  for (const Json& tail : golden()["tails"])
    EXPECT_NEAR(chi_square_tail(tail[0], tail[1]), tail[2].get<double>(), 1e-12) << tail;
}

TEST(Drift, ThinValuesAreCountedTogether) {
  const std::vector<int64_t> a = {100, 1, 2, 1, 2}, b = {100, 2, 1, 2, 1};
  const ChiSquare chi = chi_square(a, b).value();
  EXPECT_EQ(chi.degrees, 1);
  EXPECT_NEAR(chi.statistic, 0, 1e-12);
  EXPECT_FALSE(chi_square(std::vector<int64_t>{50}, std::vector<int64_t>{50}));
  EXPECT_FALSE(chi_square(std::vector<int64_t>{50, 1}, std::vector<int64_t>{50, 1}));
}

double drift_normal(Philox& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return sum;
}
struct Law {
  double shift = 0;       // of a number, in deviations
  uint64_t often = 300;   // of a thousand, the first of four values
  uint64_t missing = 50;  // of a thousand cells
};
CsvTable drawn(uint64_t seed, int64_t rows, const Law& law = {}) {
  Philox random(seed, 0xD2F7);
  std::string text = "id,size,kind,note\n";
  for (int64_t i = 0; i < rows; ++i) {
    text += cat("r", seed, "-", i, ",", 100 + 15 * (drift_normal(random) + law.shift), ",",
                random.below(1000) < law.often ? std::string("a") : cat("b", random.below(3)), ",",
                random.below(1000) < law.missing ? "" : "x", "\n");
  }
  return parse_csv(text, {.header = CsvHeader::kYes});
}
std::vector<std::string> drifted(const std::vector<ColumnDrift>& all) {
  std::vector<std::string> out;
  for (const ColumnDrift& drift : all) {
    if (drift.drifted) out.push_back(drift.column);
  }
  return out;
}

TEST(Drift, FewAlarmsAreFalse) {
  for (const int64_t rows : {100, 1000}) {
    int alarms = 0;
    for (uint64_t seed = 0; seed < 100; ++seed)
      alarms += !drifted(find_drift(drawn(2 * seed, rows), drawn(2 * seed + 1, rows))).empty();
    EXPECT_LE(alarms, 7 + 3) << rows;  // 5 of 100 are to be expected, 10 once in 60 such tests
  }
}

TEST(Drift, PlantedDriftsAreNamed) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const CsvTable before = drawn(100 + seed, 2000);
    using Names = std::vector<std::string>;
    EXPECT_EQ(drifted(find_drift(before, drawn(200 + seed, 2000, {.shift = 0.5}))), Names{"size"});
    const auto values = find_drift(before, drawn(200 + seed, 2000, {.often = 400}));
    EXPECT_EQ(drifted(values), Names{"kind"});
    EXPECT_EQ(values[0].value, "a");
    EXPECT_NEAR(values[0].share_now - values[0].share_before, 0.1, 0.05);
    EXPECT_TRUE(values[0].stability_interval && values[0].stability_interval->low > 0);
    EXPECT_TRUE(values[0].interval.low <= 0.1 && 0.1 <= values[0].interval.high);
    const auto missing = find_drift(before, drawn(200 + seed, 2000, {.missing = 150}));
    EXPECT_EQ(drifted(missing), Names{"note"});
    EXPECT_EQ(missing[0].of, DriftOf::kMissing);
  }
}

// A word among numbers, or what is no finite one, hides nothing.
TEST(Drift, OddCellsAreSetAside) {
  for (const char* odd : {"n.a", "inf", "-"}) {
    const auto with_odd = [&](uint64_t seed, const Law& law, int64_t rows) {
      const CsvTable table = drawn(seed, 2000, law);
      std::vector<CsvChange> changes;
      for (int64_t row = 0; row < rows; ++row) changes.push_back({.row = 7 * row, .column = 1, .text = odd});
      return table.with_cells(changes);
    };
    const CsvTable before = with_odd(301, {}, 1);
    EXPECT_EQ(drifted(find_drift(before, with_odd(302, {.shift = 0.5}, 0))),
              std::vector<std::string>{"size"});
    EXPECT_EQ(drifted(find_drift(before, with_odd(302, {.shift = 0.5}, 3))),
              std::vector<std::string>{"size"});
    EXPECT_TRUE(drifted(find_drift(before, with_odd(302, {}, 3))).empty());
  }
}

TEST(Drift, EffectsDecideNotChances) {
  DriftOptions anything;
  anything.least_numbers = anything.least_values = anything.least_missing = 0;
  const CsvTable before = drawn(1, 60000), now = drawn(2, 60000, {.shift = 0.03});
  EXPECT_TRUE(drifted(find_drift(before, now)).empty());
  EXPECT_EQ(drifted(find_drift(before, now, anything)), std::vector<std::string>{"size"});
}

// 400 rows each: a quarter of the values, of the missing cells and of the numbers is elsewhere, exactly.
TEST(Drift, AnEffectThatIsJustWhatMattersDrifts) {
  const auto table = [](int64_t shift) {
    std::string text = "colour,seen,size\n";
    for (int64_t i = 0; i < 400; ++i)
      text += cat((i + 4 * shift) % 4 < 1 + shift ? "red" : "blue", ",", i % 4 < 1 + shift ? "" : "yes", ",",
                  i * 7 % 40 + 10 * shift, "\n");
    return parse_csv(text);
  };
  const CsvTable before = table(0), now = table(1);
  std::vector<ColumnDrift> just = find_drift(before, now, {});
  // What is seen is "yes" in both.
  std::erase_if(just, [](const ColumnDrift& drift) { return drift.effect == 0; });
  ASSERT_EQ(just.size(), 3u);
  DriftOptions options;
  const auto least = [&](DriftOf of) -> double& {
    return of == DriftOf::kNumbers  ? options.least_numbers
           : of == DriftOf::kValues ? options.least_values
                                    : options.least_missing;
  };
  // A distance of distribution functions is rounded, a share of rows is not.
  for (const ColumnDrift& drift : just) {
    EXPECT_NEAR(drift.effect, 0.25, drift.of == DriftOf::kNumbers ? 1e-15 : 0) << drift.column;
    least(drift.of) = drift.effect;
  }
  EXPECT_EQ(drifted(find_drift(before, now, options)).size(), 3u);
  for (const ColumnDrift& drift : just) least(drift.of) = std::nextafter(drift.effect, 1);
  EXPECT_TRUE(drifted(find_drift(before, now, options)).empty());
  // So does a chance that is just the level.
  options = {.alpha = std::ranges::max(just, {}, &ColumnDrift::adjusted_p).adjusted_p};
  EXPECT_EQ(drifted(find_drift(before, now, options)).size(), 3u);
}

TEST(Drift, NothingIsSaidOfWhatCannotBeCompared) {
  EXPECT_TRUE(find_drift(drawn(1, 10), drawn(2, 1000)).empty());
  const auto all = find_drift(drawn(1, 100), drawn(2, 100));
  EXPECT_EQ(std::ranges::count(all, "id", &ColumnDrift::column), 0);
  EXPECT_EQ(std::ranges::count(all, "size", &ColumnDrift::column), 1);
  const CsvTable other = parse_csv("colour\nred\n");
  EXPECT_TRUE(find_drift(drawn(1, 100), other).empty());
}

TEST(Drift, WhatIsNotComparedIsNamedWithTheReason) {
  const auto reasons = [](const CsvTable& before, const CsvTable& now) {
    std::vector<NotCompared> out;
    find_drift(before, now, {}, &out);
    return text(out);
  };
  for (const int64_t rows : {1, 15, 19}) {
    EXPECT_EQ(reasons(drawn(1, 300), drawn(2, rows)),
              cat("Not compared:\n  ", rows, rows == 1 ? " row" : " rows", ", 20 needed\n"));
    EXPECT_TRUE(find_drift(drawn(1, 300), drawn(2, rows)).empty());
  }
  EXPECT_EQ(reasons(drawn(1, 300), drawn(2, 20, {.missing = 0})),
            "Not compared:\n  id: it names the rows: no two are alike in it\n");
  EXPECT_EQ(reasons(drawn(1, 300), drawn(2, 60, {.missing = 950})),
            "Not compared:\n  id: it names the rows: no two are alike in it\n  note: 3 values, 20 needed\n");
  const auto dates = [](int days) {
    std::string out = "placed\n";
    for (int i = 0; i < 60; ++i) out += cat("2031-0", 1 + i % days, "-1", i % 9, "\n");
    return parse_csv(out, {.header = CsvHeader::kYes});
  };
  EXPECT_EQ(
      reasons(dates(6), dates(2)),
      "Not compared:\n  placed: dates go on by themselves: their form and span are asked by data check\n");
}

CsvTable column_x(int rows, const std::function<std::string(int)>& cell) {
  std::string out = "x\n";
  for (int i = 0; i < rows; ++i) out += cell(i) + "\n";
  return parse_csv(out, {.delimiter = ',', .header = CsvHeader::kYes});
}

TEST(Drift, CodesThatLostTheirZerosAreOfAnotherForm) {
  const auto number = [](int i) { return 1000 + i * 7919 % 2000; };
  const CsvTable codes = column_x(300, [&](int i) { return cat("0", number(i)); });
  const CsvTable lost = column_x(60, [&](int i) { return cat(number(i + 300)); });
  for (const auto& [before, now] : {std::pair{codes, lost}, {lost, codes}}) {
    const auto found = find_drift(before, now);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].of, DriftOf::kForm);
    EXPECT_TRUE(found[0].drifted);
    EXPECT_EQ(found[0].effect, 1);
  }
  for (const ColumnDrift& drift :
       find_drift(codes, column_x(60, [&](int i) { return cat("0", number(i + 300)); })))
    EXPECT_FALSE(drift.drifted) << text(drift);
}

TEST(Drift, TruthsInOtherWordsAreTheSameValues) {
  const auto truths = [](const char* yes, const char* no, int rows, int often) {
    return column_x(rows, [=](int i) { return i % 10 < often ? yes : no; });
  };
  for (const auto& [before, now] : {std::pair{truths("true", "false", 300, 5), truths("1", "0", 60, 5)},
                                    {truths("1", "0", 300, 5), truths("true", "false", 60, 5)},
                                    {truths("yes", "no", 300, 5), truths("Y", "N", 60, 5)}}) {
    const auto found = find_drift(before, now);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].effect, 0) << text(found[0]);
  }
  const auto moved = find_drift(truths("true", "false", 300, 5), truths("1", "0", 60, 10));
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_TRUE(moved[0].drifted);
  EXPECT_EQ(moved[0].effect, 0.5);
}

// Texts that all differ have no law of values: without this they would not be seen to be other texts.
TEST(Drift, CellsOfAnotherFormAreADrift) {
  const auto table = [](const std::function<std::string(int)>& cell) {
    std::string out = "x\n";
    for (int i = 0; i < 200; ++i) out += cell(i) + "\n";
    return parse_csv(out, {.delimiter = ',', .header = CsvHeader::kYes});
  };
  const CsvTable dates = table([](int i) { return cat("2031-0", 1 + i % 9, "-1", i / 9 % 10); });
  const CsvTable other = table([](int i) { return cat("1", i / 9 % 10, ".", 1 + i % 9, ".31"); });
  const CsvTable numbers = table([](int i) { return cat(i * 37 % 199 / 7.0); });
  const CsvTable words = table([](int i) { return cat("about ", i * 37 % 199 / 7.0); });
  for (const auto& [before, now] : {std::pair{dates, numbers}, {numbers, dates}, {numbers, words}}) {
    const auto found = find_drift(before, now);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].of, DriftOf::kForm);
    EXPECT_TRUE(found[0].drifted);
    EXPECT_EQ(found[0].effect, 1);
  }
  EXPECT_TRUE(find_drift(dates, other).empty()) << "both are dates";
  EXPECT_FALSE(find_drift(numbers, numbers)[0].drifted);
}

// An interval of a column takes a third of the time, at most, that its normal numbers take to draw: each
// column of a wide table drew them anew, and 400 of them took 2 s.
TEST(DriftSlow, ManyColumnsDrawTheirNumbersOnce) {
  constexpr int kColumns = 20, kRows = 700, kDraws = 400;
  Philox random(3);
  std::vector<double> a, b;
  for (int row = 0; row < kRows; ++row) {
    a.push_back(static_cast<double>(random.below(6000)));
    b.push_back(static_cast<double>(random.below(6000)));
  }
  std::ranges::sort(a);
  std::ranges::sort(b);
  const auto seconds = [](auto&& work) {
    const std::clock_t before = std::clock();
    work();
    return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  };
  double sum = 0;
  wasserstein_interval(a, b);
  const double columns = seconds([&] {
    for (int c = 0; c < kColumns; ++c) sum += wasserstein_interval(a, b).high;
  });
  const double draws = seconds([&] {
    for (int i = 0; i < kColumns * 2 * kDraws * 128; ++i)
      sum += std::sqrt(-2 * std::log(1 - static_cast<double>(random.uniform()))) *
             std::cos(6.28 * static_cast<double>(random.uniform()));
  });
  EXPECT_TRUE(std::isfinite(sum));
  EXPECT_LT(3 * columns, draws) << columns << " s and " << draws << " s";
}

// Of four times the columns no more than six times the time: a cost of each pair would be sixteen times.
TEST(DriftSlow, WideTablesCostNoPairsOfColumns) {
  const auto seconds = [](int columns) {
    Philox random(11);
    const auto table = [&] {
      std::string text;
      for (int c = 0; c < columns; ++c) text += cat("g", c, c + 1 < columns ? "," : "\n");
      for (int row = 0; row < 60; ++row) {
        for (int c = 0; c < columns; ++c) text += cat(random.below(2000), c + 1 < columns ? "," : "\n");
      }
      return parse_csv(text);
    };
    const CsvTable before = table(), now = table();
    const std::clock_t start = std::clock();
    EXPECT_EQ(find_drift(before, now).size(), static_cast<size_t>(columns));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  seconds(20);  // what is drawn once
  double few = 1e9, many = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    few = std::min(few, seconds(400));
    many = std::min(many, seconds(1600));
  }
  EXPECT_LT(many, 6 * few) << few << " s and " << many << " s";
}

}  // namespace
}  // namespace espalier
