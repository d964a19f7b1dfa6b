#include "evaluate/slices.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

constexpr uint32_t kMissing = CategoryColumn::kMissing;

const CategoryColumn kSex{"sex", {"Female", "Male"}, {0, 1, 1, 0, kMissing, 1}};
const CategoryColumn kRace{"race", {"A", "never", "B"}, {2, 0, kMissing, 2, 0, 0}};

std::vector<std::string> names(const Slicing& slicing) {
  std::vector<std::string> out;
  for (const RowSlice& slice : slicing.slices) out.push_back(slice.name);
  return out;
}

TEST(Slices, OfOneColumn) {
  const Slicing slicing = slice_by({&kSex});
  EXPECT_EQ(names(slicing), (std::vector<std::string>{"sex=Female", "sex=Male", "sex=(missing)"}));
  EXPECT_EQ(slicing.of_row, (std::vector<uint32_t>{0, 1, 1, 0, 2, 1}));
  EXPECT_EQ(slicing.slices[1].rows, 3);
}

TEST(Slices, ValuesThatNoRowHasAreNone) {
  EXPECT_EQ(names(slice_by({&kRace})), (std::vector<std::string>{"race=A", "race=B", "race=(missing)"}));
}

TEST(Slices, RowsWithoutAValueMayBeLeftOut) {
  const Slicing slicing = slice_by({&kSex, &kRace}, {.missing = MissingGroup::kLeftOut});
  EXPECT_EQ(names(slicing), (std::vector<std::string>{"sex=Female, race=B", "sex=Male, race=A"}));
  EXPECT_EQ(slicing.of_row, (std::vector<uint32_t>{0, 1, Slicing::kNone, 0, Slicing::kNone, 1}));
}

TEST(Slices, NoTextOfACellIsNamedAsMissingRowsOrRareSlicesAre) {
  const CategoryColumn texts{
      "g", {"\"(missing)\"", "(missing)", "(rare)", "(none)", "\"a\""}, {0, 1, 2, 3, 4, kMissing}};
  EXPECT_EQ(names(slice_by({&texts})),
            (std::vector<std::string>{R"x(g="""(missing)""")x", R"x(g="(missing)")x", R"x(g="(rare)")x",
                                      "g=(none)", R"x(g="""a""")x", "g=(missing)"}));
  EXPECT_EQ(slice_by({&texts}).slices[1].values, std::vector<std::string>{"\"(missing)\""});
}

// Of names and values with all signs that names of slices know: each name is read back as what it is of, and
// no two are alike.
TEST(Slices, NamesAreReadBackWhateverIsInThem) {
  constexpr std::string_view kLetters = "ab,=*:\"` ()\n\xc3\xa4";
  Philox random(11);
  const auto word = [&] {
    std::string out;
    for (auto length = random.below(5); out.size() < length;) out += kLetters[random.below(kLetters.size())];
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    CategoryColumn a{word(), {"(missing)", word() + "1", word() + "2", "x, y=z"}, {0, 1, 2, 3, kMissing}};
    CategoryColumn b{word() + "b", {word() + "1", "[25,45)", "(rare)", "\"q"}, {3, 2, 1, 0, kMissing}};
    std::set<std::string> different;
    for (const RowSlice& slice : slice_by({&a, &b}).slices) {
      const std::vector<SlicePart> parts = parts_of_slice(slice.name);
      ASSERT_EQ(parts.size(), 2u) << slice.name;
      ASSERT_EQ(parts[0].column, a.name) << slice.name;
      ASSERT_EQ(parts[1].column, b.name) << slice.name;
      ASSERT_EQ(parts[0].value, slice.values[0]) << slice.name;
      ASSERT_EQ(parts[1].value, slice.values[1]) << slice.name;
      ASSERT_EQ(slice_named(slice.name), slice.name);
      different.insert(slice.name);
    }
    ASSERT_EQ(different.size(), 5u);
  }
}

TEST(Slices, NamesAreReadWithoutTheQuotesThatTheyCanDoWithout) {
  EXPECT_EQ(slice_named("city=Paris, France"), "city=\"Paris, France\"");
  EXPECT_EQ(slice_named("city=Paris, France, age=[25,45)"), "city=\"Paris, France\", age=[25,45)");
  EXPECT_EQ(slice_named("`a=b` = q\"x"), "\"a=b\"=q\"x");
  EXPECT_EQ(slice_named("sex=(missing)"), "sex=(missing)");
  EXPECT_EQ(slice_named("sex"), "sex");
  EXPECT_TRUE(parts_of_slice("overall").empty());
  EXPECT_EQ(rule_of([] { parts_of_slice("\"a=b"); }), "names.quote");
}

TEST(Slices, CrossesAreTheCombinationsThatRowsHave) {
  Philox random(3);
  std::vector<CategoryColumn> columns(3);
  for (CategoryColumn& column : columns) {
    column.name = std::string(1, static_cast<char>('a' + (&column - columns.data())));
    column.values = {"0", "1", "2", "3"};
    for (int i = 0; i < 60; ++i) {
      const auto code = static_cast<uint32_t>(random.below(5));
      column.codes.push_back(code == 4 ? kMissing : code);
    }
  }
  const auto text = [&](size_t column, size_t row) {
    const uint32_t code = columns[column].codes[row];
    return columns[column].name + "=" + (code == kMissing ? "(missing)" : columns[column].values[code]);
  };
  std::map<std::string, int64_t> expected;
  const Slicing slicing = slice_by({&columns[0], &columns[1], &columns[2]});
  for (size_t row = 0; row < 60; ++row) {
    const std::string name = text(0, row) + ", " + text(1, row) + ", " + text(2, row);
    ++expected[name];
    EXPECT_EQ(slicing.slices[slicing.of_row[row]].name, name);
  }
  ASSERT_EQ(slicing.slices.size(), expected.size());
  for (const RowSlice& slice : slicing.slices) EXPECT_EQ(slice.rows, expected[slice.name]) << slice.name;
}

TEST(Slices, BucketsHoldTheirLowerEdge) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{24.9, 25, 44, 45, -inf, inf, std::nan("")}, edges{25, 45.5};
  const CategoryColumn age = bucket("age", numbers, edges);
  EXPECT_EQ(age.values, (std::vector<std::string>{"(-inf,25)", "[25,45.5)", "[45.5,inf)"}));
  EXPECT_EQ(age.codes, (std::vector<uint32_t>{0, 1, 1, 1, 0, 2, kMissing}));
  EXPECT_EQ(slice_by({&age}).slices[1].name, "age=[25,45.5)");
  for (const std::vector<double>& bad :
       {std::vector<double>{}, {1, 1}, {2, 1}, {1, inf}, {std::nan("")}, {-inf, 1}})
    EXPECT_EQ(rule_of([&] { bucket("age", numbers, bad); }), "evaluate.bucket");
}

TEST(Slices, FewRowsAreThin) {
  const Slicing slicing = slice_by({&kSex}, {.min_rows = 2});
  EXPECT_FALSE(slicing.slices[0].thin);
  EXPECT_TRUE(slicing.slices[2].thin);
  EXPECT_FALSE(overall(2, {.min_rows = 2}).slices[0].thin);
  EXPECT_TRUE(overall(1, {.min_rows = 2}).slices[0].thin);
}

TEST(Slices, OverallIsAllRows) {
  const Slicing slicing = overall(3);
  EXPECT_EQ(names(slicing), (std::vector<std::string>{"overall"}));
  EXPECT_EQ(slicing.slices[0].rows, 3);
  EXPECT_EQ(slicing.of_row, (std::vector<uint32_t>{0, 0, 0}));
}

TEST(Slices, ColumnsThatDoNotFitAreRefused) {
  const CategoryColumn shorter{"short", {"x"}, {0}}, beyond{"beyond", {"x"}, {0, 0, 1, 0, 0, 0}};
  EXPECT_EQ(rule_of([] { slice_by({}); }), "evaluate.slice");
  EXPECT_EQ(rule_of([&] { slice_by({&kSex, &shorter}); }), "evaluate.slice");
  EXPECT_EQ(rule_of([&] { slice_by({&beyond}); }), "evaluate.slice");
  CategoryColumn wide{"wide", std::vector<std::string>(5000, "v"), {}};
  for (uint32_t i = 0; i < 5000; ++i) wide.codes.push_back(i);
  EXPECT_EQ(slice_by({&wide}).slices.size(), 5000u);
  EXPECT_EQ(rule_of([&] { slice_by({&wide, &wide}); }), "evaluate.cross");
}

}  // namespace
}  // namespace espalier
