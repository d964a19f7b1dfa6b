#include "data/column_label.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;

// 100 rows of x = 1, 2, ... and y as given.
CsvTable labels_of(const std::function<std::string(int)>& y) {
  std::string text = "x,y\n";
  for (int i = 1; i <= 100; ++i) text += cat(i * 31 % 101, ",\"", y(i), "\"\n");
  return parse_csv(text);
}
ColumnProgram learned(const std::function<std::string(int)>& y, ColumnOptions options = {}) {
  options.label = "y";
  return fit_all(labels_of(y), options);
}
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ValueError& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "no error";
}

TEST(ColumnLabel, SpellingsOfOneClassAreNamed) {
  EXPECT_EQ(noted(learned([](int i) { return i % 3 == 0   ? "Yes"
                                             : i % 3 == 1 ? "no"
                                                          : "yes"; }), "y"),
            "the label, 3 classes: Yes (33 %), no (34 %), yes (33 %)\n"
            "classes Yes and yes differ in capitals or blanks alone: are they one? (--merge-labels)");
}

// Composed and decomposed letters, full-width ones and capitals beyond Latin-1.
TEST(ColumnLabel, ClassesThatLookTheSameAreNamedAndMerged) {
  const auto spelled = [](int i) {
    constexpr const char* kSpellings[] = {"männlich", "ma\u0308nnlich", "Łódź", "łÓDŹ"};
    return kSpellings[i % 4];
  };
  const std::string notes = noted(learned(spelled), "y");
  EXPECT_NE(
      notes.find(
          " differ in the codes of characters that look alike (U+0061 U+0308 and U+00E4) alone: are they "
          "one? (--merge-labels)"),
      notes.npos)
      << notes;
  EXPECT_NE(notes.find("classes Łódź and łÓDŹ differ in capitals or blanks alone"), notes.npos) << notes;
  const ColumnProgram program = learned(spelled, {.merge_labels = true});
  EXPECT_EQ(program.classes().size(), 2u);
  const CsvTable other = parse_csv("x,y\n1,MÄNNLICH\n2,ｍännlich\n3,Lo\u0301dz\n");
  EXPECT_EQ(rule_of([&] { program.labels(other); }), "columns.label") << "L is no Ł";
  EXPECT_EQ(
      program.labels(parse_csv("x,y\n1,MÄNNLICH\n2,ｍännlich\n3,ŁO\u0301DZ\u0301\n")).to_vector<int32_t>(),
      (std::vector<int32_t>{0, 0, 1}));
}

TEST(ColumnLabel, SpellingsOfOneClassMayBeMerged) {
  const auto spelled = [](int i) {
    constexpr const char* kSpellings[] = {"no",  "Yes", " NO", "yes", "no",
                                          "yes", "ÉTÉ", "été", "été", "Y E S"};
    return kSpellings[i % 10];
  };
  const ColumnProgram program = learned(spelled, {.merge_labels = true});
  EXPECT_EQ(program.classes(), (Names{"no", "yes", "été"}));
  EXPECT_EQ(noted(program, "y"),
            "class no is also written NO\nclass yes is also written Y E S and Yes\n"
            "class été is also written ÉTÉ\n"
            "the label, 3 classes: no (30 %), yes (40 %), été (30 %)");
  const CsvTable other = parse_csv("x,y\n1,yEs\n2,\" no\"\n3,été\n4,\"yes\u00a0\"\n");
  const std::vector<int32_t> expected{1, 0, 2, 1};
  EXPECT_EQ(program.labels(other).to_vector<int32_t>(), expected);
  // A saved program merges the same way.
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).labels(other).to_vector<int32_t>(), expected);
  EXPECT_EQ(error_of([&] { program.labels(parse_csv("x,y\n1,maybe\n2,no\n")); }),
            "columns.label line 2: the label \"maybe\" is none of the 3 classes no, yes, été");
  EXPECT_EQ(learned(spelled).classes().size(), 7u);
  EXPECT_EQ(error_of([] {
              learned([](int i) { return i % 2 ? "a" : "A"; }, {.merge_labels = true});
            }).substr(0, 39),
            "columns.label label \"y\": all 100 traini");
}

// 1 and true are one where nothing but truths is there, within a table and from one to another.
TEST(ColumnLabel, TruthsAreTheSameInBothWaysOfWriting) {
  const auto bits = [](int i) { return i % 3 == 0 ? "1" : "0"; };
  const auto words = [](int i) { return i % 3 == 0 ? "true" : "False"; };
  const auto mixed = [&](int i) { return i < 80 ? bits(i) : words(i); };
  const std::vector<int32_t> expected = learned(bits).labels(labels_of(bits)).to_vector<int32_t>();
  ASSERT_EQ(std::ranges::count(expected, 1), 33);
  for (const ColumnProgram& program : {learned(bits), learned(words), learned(mixed)}) {
    ASSERT_EQ(program.classes().size(), 2u);
    const ColumnProgram read = ColumnProgram::from_json(program.to_json());
    const bool turned = program.classes()[0] == "1" || program.classes()[0] == "true";
    for (const auto& table : {labels_of(bits), labels_of(words), labels_of(mixed)}) {
      std::vector<int32_t> said = read.labels(table).to_vector<int32_t>();
      for (int32_t& one : said) one = turned ? 1 - one : one;
      EXPECT_EQ(said, expected);
    }
  }
  EXPECT_EQ(learned(mixed).classes(), (Names{"0", "1"}));
  EXPECT_EQ(noted(learned(mixed), "y"),
            "class 0 is also written False\nclass 1 is also written true\n"
            "the label, 2 classes: 0 (67 %), 1 (33 %)");
  // With another class it is not known, and said.
  const std::string notes = noted(learned([&](int i) { return i % 10 == 0 ? "2" : mixed(i); }), "y");
  for (const char* pair : {"classes 0 and False", "classes 1 and true"})
    EXPECT_NE(notes.find(cat(pair, " say the same where a table has them alone: are they one?")), notes.npos)
        << notes;
  EXPECT_EQ(noted(learned([](int i) { return i % 2 ? "yes" : "no"; }), "y").find("are they one"),
            std::string::npos);
}

TEST(ColumnLabel, AmountsWithAUnitAreNumbers) {
  const auto price = [](int i) { return cat("$", i, ".25"); };
  const ColumnProgram program = learned(price);
  EXPECT_EQ(noted(program, "y"), "the label, a number from 1.25 to 100.25 in $");
  const Tensor y = program.labels(labels_of(price));
  const std::vector<double> values = program.label_values(y.data<float>());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], static_cast<double>(i) + 1.25, 1e-4);
}

TEST(ColumnLabel, RowsWithoutALabelAreNotAmongTheLabelled) {
  const ColumnProgram program = learned([](int i) { return i % 3 ? "no" : "yes"; });
  EXPECT_EQ(program.labelled_rows(parse_csv("x,y\n1,no\n2,\n3,?\n4,other\n")), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(program.labelled_rows(parse_csv("x,z\n1,no\n2,\n")), (std::vector<int64_t>{0, 1}));
}

TEST(ColumnLabel, TextAndFewIntegersAreClasses) {
  EXPECT_EQ(learned([](int i) { return i % 3 ? "no" : "yes"; }).classes(), (Names{"no", "yes"}));
  EXPECT_EQ(learned([](int i) { return cat(i % 12); }).classes(),
            (Names{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}));
  EXPECT_EQ(learned([](int i) { return cat(i % 2, ".0"); }).classes(), (Names{"0", "1"}));
  EXPECT_EQ(learned([](int i) { return cat("0", i % 3); }).classes(), (Names{"00", "01", "02"}));
  EXPECT_FALSE(learned([](int i) { return cat(i % 25); }).classification());
  EXPECT_FALSE(learned([](int i) { return cat(i % 3, ".5"); }).classification());
  EXPECT_TRUE(
      learned([](int i) { return cat(i % 25); }, {.task = ColumnTask::kClassification}).classification());
  EXPECT_FALSE(learned([](int i) { return cat(i % 3); }, {.task = ColumnTask::kRegression}).classification());
  const ColumnProgram program = learned([](int i) { return cat(i % 3); });
  const CsvTable table = parse_csv("x,y\n1,2\n2,0.0\n3,1\n");
  EXPECT_EQ(program.labels(table).to_vector<int32_t>(), (std::vector<int32_t>{2, 0, 1}));
}

// The two have one f64.
TEST(ColumnLabel, ClassesThatAreLongNumbersDifferInTheirLastDigit) {
  const Names ids = {"9007199254740992", "9007199254740993"};
  const ColumnProgram program = learned([&](int i) { return ids[static_cast<size_t>(i % 2)]; });
  EXPECT_EQ(program.classes(), ids);
  const CsvTable table = parse_csv("x,y\n1,9007199254740993\n2,9007199254740992.0\n3,+09007199254740993\n");
  EXPECT_EQ(program.labels(table).to_vector<int32_t>(), (std::vector<int32_t>{1, 0, 1}));
  const std::string unknown = error_of([&] { program.labels(parse_csv("x,y\n1,9007199254740991\n")); });
  EXPECT_NE(unknown.find("9007199254740991"), unknown.npos) << unknown;
  EXPECT_TRUE(unknown.starts_with("columns.label line 2")) << unknown;
}

TEST(ColumnLabel, NumbersAreStandardised) {
  const ColumnProgram program = learned([](int i) { return cat(i); });
  EXPECT_DOUBLE_EQ(program.label_mean(), 50.5);
  EXPECT_DOUBLE_EQ(program.label_scale(), std::sqrt((100.0 * 100 - 1) / 12));
  EXPECT_FALSE(program.label_log());
  EXPECT_EQ(noted(program, "y"), "the label, a number from 1 to 100");
  const Tensor y = program.labels(parse_csv("x,y\n1,50.5\n2,100\n"));
  EXPECT_EQ(to_string(y.type()), "f32[2,1]");
  EXPECT_EQ(y.data<float>()[0], 0);
  const std::vector<double> values = program.label_values(y.data<float>());
  EXPECT_NEAR(values[0], 50.5, 1e-5);
  EXPECT_NEAR(values[1], 100, 1e-5);
}

TEST(ColumnLabel, SkewedPositiveNumbersAreLearnedAsLogarithms) {
  const auto price = [](int i) { return static_cast<int>(100 * std::exp(0.15 * i)); };
  const auto text = [&](int i) { return cat(price(i)); };
  const ColumnProgram program = learned(text);
  EXPECT_TRUE(program.label_log());
  double mean = 0;
  for (int i = 1; i <= 100; ++i) mean += std::log(1.0 + price(i)) / 100;
  EXPECT_NEAR(program.label_mean(), mean, 1e-12);
  const Tensor y = program.labels(labels_of(text));
  const std::vector<double> values = program.label_values(y.data<float>());
  for (int i = 1; i <= 100; ++i) EXPECT_NEAR(values[static_cast<size_t>(i - 1)], price(i), 1e-6 * price(i));
  // What a model says stays within what it has seen.
  const std::vector<float> far = {-100, 100};
  EXPECT_EQ(program.predicted_values(far), (std::vector<double>{double(price(1)), double(price(100))}));
  // A number below all training rows, below zero too, is a label as any other.
  const std::vector<float> below = program.labels(parse_csv("x,y\n1,-1\n2,-250\n3,0\n")).to_vector<float>();
  const std::vector<double> read = program.label_values(below);
  EXPECT_NEAR(read[0], -1, 1e-5);
  EXPECT_NEAR(read[1], -250, 1e-3);
  EXPECT_NEAR(read[2], 0, 1e-5);
  // A label of zero, or one whose logarithm is as skewed to the other side, is learned as it is.
  EXPECT_FALSE(learned([&](int i) { return i == 1 ? cat(0) : text(i); }).label_log());
  EXPECT_FALSE(learned([](int i) { return cat(i * i * i); }).label_log());
}

TEST(ColumnLabel, WhatCannotBeLearnedIsRefused) {
  EXPECT_EQ(error_of([] { learned([](int) { return "a"; }); }),
            "columns.label label \"y\": all 100 training rows are \"a\", so there is nothing to tell apart");
  EXPECT_EQ(error_of([] { learned([](int) { return "1.5"; }); }),
            "columns.label label \"y\": all 100 training rows are 1.5, so there is nothing to learn");
  EXPECT_EQ(
      error_of([] { learned([](int i) { return cat("name ", i); }); }),
      "columns.label label \"y\" has 100 different texts in 100 training rows: too many to learn as classes");
  EXPECT_EQ(error_of([] { learned([](int i) { return i == 7 ? "dear" : cat(i, ".5"); }); }),
            "columns.label label \"y\" is a number in 99 of 100 training rows, but not in line 8, \"dear\"");
  EXPECT_EQ(error_of([] { learned([](int i) { return i % 10 == 9 ? "?" : cat(i); }); }),
            "columns.label label \"y\" is missing in 10 of 100 training rows, first in line 10");
  EXPECT_EQ(rule_of([] { fit_all(parse_csv("x,y\n1,2\n"), {}); }), "columns.label");
  EXPECT_EQ(rule_of([] { ColumnProgram::fit(parse_csv("x,y\n1,2\n"), {}, {.label = "y"}); }), "columns.rows");
  const CsvTable table = parse_csv("x,y\n1,a\n2,\n3,b\n4,NA\n");
  EXPECT_EQ(labelled_rows(table, {.label = "y"}), (std::vector<int64_t>{0, 2}));
}

TEST(ColumnLabel, OtherTablesMayHaveOtherLabels) {
  const ColumnProgram classes = learned([](int i) { return i % 3 ? "<=50K" : ">50K"; });
  const CsvTable dotted = parse_csv("x,y\n1,<=50K.\n2,>50K.\n");
  try {
    classes.labels(dotted);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "line 2: the label \"<=50K.\" ends in a dot, the class \"<=50K\" does not");
    EXPECT_NE(std::string(error.what()).find("fix: set strip_label_dots"), std::string::npos);
  }
  EXPECT_EQ(classes.with_strip_label_dots(true).labels(dotted).to_vector<int32_t>(),
            (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(learned([](int i) { return i % 3 ? "<=50K." : ">50K"; }, {.strip_label_dots = true}).classes(),
            (Names{"<=50K", ">50K"}));
  EXPECT_EQ(error_of([&] { classes.labels(parse_csv("x,y\n1,<=50K\n2,50K\n")); }),
            "columns.label line 3: the label \"50K\" is none of the 2 classes <=50K, >50K");
  EXPECT_EQ(error_of([&] { classes.labels(parse_csv("x,y\n1,>50K\n2,?\n")); }),
            "columns.label line 3: the label \"y\" is missing");
  const ColumnProgram numbers = learned([](int i) { return cat(i); });
  EXPECT_EQ(error_of([&] { numbers.labels(parse_csv("x,y\n1,2\n2,few\n")); }),
            "columns.label line 3: the label \"few\" is no number");
  EXPECT_EQ(rule_of([&] { classes.label_values({}); }), "columns.label");
}

TEST(ColumnLabel, FewRowsOfAClassAreNamed) {
  EXPECT_EQ(noted(learned([](int i) { return i % 25 ? "most" : "few"; }), "y"),
            "the label, 2 classes: few (4 %), most (96 %)\n"
            "class few has few rows (4 %): accuracy alone says little about it");
  EXPECT_EQ(noted(learned([](int i) { return i % 4 ? "most" : "few"; }), "y"),
            "the label, 2 classes: few (25 %), most (75 %)");
}

TEST(ColumnLabel, OfManyClassesTheRarestAreNamedInOneLine) {
  const auto said = [](const std::function<int(int)>& kind) {
    std::string text = "x,y\n";
    for (int i = 0; i < 400; ++i) text += cat(i * 7 % 400, ",k", kind(i), "\n");
    const std::string notes = noted(fit_all(parse_csv(text), {.label = "y"}), "y");
    const size_t line = notes.find('\n');
    return line == notes.npos ? "" : notes.substr(line + 1);
  };
  // Ten classes of 40 rows; and one of 10 less: more than a fifth of an equal share.
  EXPECT_EQ(said([](int i) { return i % 10; }), "");
  EXPECT_EQ(said([](int i) { return i < 30 ? 3 : i % 10; }), "");
  // 20 is an equal share; 3, 2, 2 and 1 rows are less than 4.
  const int rows[] = {3, 2, 2, 1};
  EXPECT_EQ(said([&](int i) {
              for (int c = 0, end = 0; c < 4; ++c) {
                if (i < (end += rows[c])) return c;
              }
              return 4 + i % 16;
            }),
            "4 classes have few rows: k3 (1 row), k1 (2 rows), k2 (2 rows), ...: accuracy alone says little "
            "about them");
  // All in one unit.
  EXPECT_EQ(said([](int i) { return i < 7    ? 0
                                    : i < 10 ? 1
                                             : 2; }),
            "2 classes have few rows: k1 (3 rows), k0 (7 rows): accuracy alone says little about them");
  EXPECT_EQ(said([](int i) { return i < 7    ? 0
                                    : i < 15 ? 1
                                             : 2; }),
            "2 classes have few rows: k0 (2 %), k1 (2 %): accuracy alone says little about them");
}

// y = "a" or "b", and a column that the given function makes of it.
std::string leak_note(const std::function<std::string(int, bool)>& x) {
  const auto is_a = [](int i) { return i * i % 7 < 3; };
  const CsvTable table = table_of(
      "x", [&](int i) { return x(i, is_a(i)); }, 400);
  return noted(fit_all(table, {.label = "y"}), "x");
}

TEST(ColumnLeaks, AnotherNameOfTheLabelIsSetAside) {
  EXPECT_EQ(leak_note([](int, bool a) { return a ? "yes" : "no"; }),
            "set aside: it is the label under another name (--include COLUMN keeps it)");
  EXPECT_EQ(leak_note([](int, bool a) { return a ? "1" : "0"; }),
            "set aside: it is the label under another name (--include COLUMN keeps it)");
  const CsvTable table = table_of(
      "x", [](int i) { return i * i % 7 < 3 ? cat("yes") : cat("no"); }, 400);
  EXPECT_EQ(noted(fit_all(table, {.label = "y", .kinds = {{"x", ColumnKind::kBoolean}}}), "x").substr(0, 7),
            "boolean");
}

TEST(ColumnLeaks, WhatTellsTheLabelAloneIsSuspected) {
  const std::string suspicion = ": perhaps a leak, something known only with the answer";
  EXPECT_TRUE(leak_note([](int i, bool a) {
                return i % 100 == 2 ? "yes" : a ? "yes" : "no";
              }).ends_with(suspicion));
  EXPECT_TRUE(leak_note([](int i, bool a) { return cat(a ? "p" : "q", i % 2); }).ends_with(suspicion));
  EXPECT_EQ(leak_note([](int i, bool a) { return i % 10 == 0 ? "yes"
                                                 : a         ? "yes"
                                                             : "no"; }).find("leak"),
            std::string::npos);
}

TEST(ColumnLeaks, AThresholdThatTellsTheLabelIsSuspected) {
  const std::string suspicion = ": perhaps a leak, something known only with the answer";
  const auto refund = [](int i, bool a) { return a ? cat(1 + i % 50, ".", i) : cat("0.0", i); };
  EXPECT_TRUE(leak_note(refund).ends_with(suspicion)) << leak_note(refund);
  const auto odd = [&](int i, bool a) { return i == 7 ? "inf" : refund(i, a); };
  EXPECT_TRUE(leak_note(odd).ends_with(suspicion)) << leak_note(odd);
  // Of one class only below, of a twentieth of the rows not.
  EXPECT_EQ(leak_note([&](int i, bool a) { return refund(i, i % 20 == 0 ? !a : a); }).find("leak"),
            std::string::npos);
  EXPECT_EQ(leak_note([](int i, bool) { return cat(i * 37 % 401, ".", i); }).find("leak"), std::string::npos);
}

TEST(ColumnLeaks, WordsThatPartALabelOfNumbers) {
  const auto note = [](const std::function<std::string(int)>& x, int numbers) {
    std::string text = "x,z,y\n";
    for (int i = 0; i < 200; ++i) text += cat(x(i), ",", i * 37 % 101, ",", i % numbers, "\n");
    return noted(fit_all(parse_csv(text), {.label = "y", .task = ColumnTask::kRegression}), "x");
  };
  EXPECT_EQ(note([](int i) { return i % 2 ? "yes" : "no"; }, 2),
            "set aside: it is the label under another name (--include COLUMN keeps it)");
  const auto band = [](int i) {
    return std::string(i % 100 < 30 ? "low" : i % 100 < 70 ? "middle" : "high");
  };
  EXPECT_TRUE(
      note(band, 100).ends_with("its values part the label's numbers without an overlap: perhaps a leak, "
                                "something known only with the answer"))
      << note(band, 100);
  // One row that overlaps, and words of a few rows each, are no leak.
  EXPECT_EQ(note([&](int i) { return i == 10 ? std::string("high") : band(i); }, 100).find("leak"),
            std::string::npos);
  EXPECT_EQ(note([](int i) { return cat("w", i % 100 / 8); }, 100).find("leak"), std::string::npos);
}

TEST(ColumnLabel, ADateIsNoClass) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400; ++i) text += cat(i * 7 % 101, ",", 1 + i % 28, ".", 1 + i / 28 % 6, ".2024\n");
  const CsvTable table = parse_csv(text);
  EXPECT_EQ(error_of([&] { fit_all(table, {.label = "y"}); }),
            "columns.label label \"y\" is a date, and as classes its 168 days say nothing of others");
  EXPECT_EQ(fit_all(table, {.label = "y", .task = ColumnTask::kClassification}).classes().size(), 168u);
}

TEST(ColumnLeaks, OfNumbers) {
  const auto note = [](const std::function<double(int)>& x) {
    std::string text = "x,z,y\n";
    for (int i = 0; i < 100; ++i) text += cat(x(i), ",", i % 7, ",", i * i, ".5\n");
    return noted(fit_all(parse_csv(text), {.label = "y"}), "x");
  };
  EXPECT_EQ(note([](int i) { return i * i + 0.5; }),
            "set aside: it is the label under another name (--include COLUMN keeps it)");
  EXPECT_TRUE(note([](int i) {
                return 2 * i * i - 3;
              }).ends_with("perhaps a leak, something known only with the answer"));
  EXPECT_EQ(note([](int i) { return i; }), "numeric, 0 to 99");
}

}  // namespace
}  // namespace espalier
