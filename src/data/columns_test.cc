#include "espalier/columns.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;

// The column of the inputs that has this name.
std::vector<float> feature(const ColumnProgram& program, const Tensor& inputs, const std::string& name) {
  const Names names = program.feature_names();
  const auto place = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  EXPECT_LT(place, names.size()) << name;
  std::vector<float> out;
  for (size_t i = place; i < inputs.data<float>().size(); i += names.size())
    out.push_back(inputs.data<float>()[i]);
  return out;
}

TEST(Columns, NumbersAreStandardisedByTheTrainingRows) {
  const CsvTable table = parse_csv("x,y\n1,a\n2,b\n3,a\n1000,b\n-1000,a\n7,b\n");
  const std::vector<int64_t> training{0, 1, 2};
  const ColumnProgram program = ColumnProgram::fit(table, training, {.label = "y"});
  const double scale = std::sqrt(2.0 / 3);
  const Tensor x = program.inputs(table);
  EXPECT_EQ(to_string(x.type()), "f32[6,1]");
  const float expected[] = {static_cast<float>(-1 / scale), 0, static_cast<float>(1 / scale), 10, -10,
                            static_cast<float>(5 / scale)};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(x.data<float>()[i], expected[i]);
  const std::vector<int64_t> some{5, 0};
  EXPECT_EQ(program.inputs(table, some).to_vector<float>(), (std::vector<float>{expected[5], expected[0]}));
  EXPECT_EQ(to_string(program.inputs(table, std::vector<int64_t>{}).type()), "f32[0,1]");
}

TEST(Columns, MissingNumbersAreTheMedianAndSaySo) {
  const CsvTable table = parse_csv("x,y\n1,a\n?,b\n5,a\n2,b\n,a\nlots,b\n4,a\n");
  const std::vector<int64_t> training{0, 1, 2, 3, 6};
  const ColumnProgram program = ColumnProgram::fit(table, training, {.label = "y"});
  EXPECT_EQ(program.feature_names(), (Names{"x", "x missing"}));
  ColumnReport report;
  const Tensor x = program.inputs(table, {}, &report);
  // Of 1, 5, 2, 4: median 3, mean 3, variance 2.5.
  const auto z = static_cast<float>(1 / std::sqrt(2.5));
  EXPECT_EQ(feature(program, x, "x"), (std::vector<float>{-2 * z, 0, 2 * z, -z, 0, 0, z}));
  EXPECT_EQ(feature(program, x, "x missing"), (std::vector<float>{0, 1, 0, 0, 1, 1, 0}));
  ASSERT_EQ(report.columns.size(), 1u);
  EXPECT_EQ(report.rows, 7);
  EXPECT_EQ(report.columns[0].missing, 2);
  EXPECT_EQ(report.columns[0].unreadable, 1);
  EXPECT_EQ(report.columns[0].line, 7);
}

TEST(Columns, SkewedAmountsAreTakenAsTheirLogarithm) {
  const CsvTable table = table_of("x", [](int i) { return cat(i % 10 == 3 ? 5000 : i % 3); });
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(noted(program, "x"), "numeric, 0 to 5000, strongly skewed and so taken as its logarithm");
  double sum = 0, squares = 0;
  std::vector<double> logs;
  for (int i = 0; i < 40; ++i) logs.push_back(std::log(1.0 + (i % 10 == 3 ? 5000 : i % 3)));
  for (const double x : logs) sum += x;
  for (const double x : logs) squares += (x - sum / 40) * (x - sum / 40);
  const std::vector<float> x = feature(program, program.inputs(table), "x");
  for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(x[i], (logs[i] - sum / 40) / std::sqrt(squares / 40), 1e-6);
  // Not where a value is negative.
  const CsvTable negative = table_of("x", [](int i) { return i ? cat(i % 10 == 3 ? 5000 : i % 3) : "-1"; });
  EXPECT_EQ(noted(fit_all(negative, {.label = "y"}), "x"), "numeric, -1 to 5000");
}

// What is said of each input is what it is, computed by hand.
TEST(Columns, FormulasNameTheFormsOfDates) {
  const struct {
    const char *first, *second;
    std::vector<std::string> forms;
  } cases[] = {
      {"2024-02-28", "2023-01-31", {"2024-02-29", "2024/02/29", "20240229"}},
      {"28.2.2024", "31.1.2023", {"29.2.2024", "29/2/24", "29-2-2024", "2024-02-29"}},
      {"2/28/2024", "1/31/2023", {"2/29/2024", "2.29.24", "2-29-2024", "2024-02-29"}},
  };
  for (const auto& [first, second, forms] : cases) {
    const ColumnProgram program =
        fit_all(parse_csv(cat("d,e,y\n", first, ",1,1\n", second, ",2,2.5\n", first, ",2,3\n")),
                {.label = "y", .task = ColumnTask::kRegression});
    const std::string formula = program.feature_formulas()[0];
    std::vector<float> wanted;
    for (const std::string& form : forms) {
      EXPECT_NE(formula.find(form), std::string::npos) << formula;
      for (const char* time : {"", " 12:30", " 12:30:00.5", " 2:30 PM", "T12:30:00+01:00"}) {
        const auto row = program.inputs(parse_csv(cat("d,e\n", form, time, ",1\n"))).to_vector<float>();
        if (wanted.empty()) wanted = row;
        EXPECT_EQ(row, wanted) << form << time;
        EXPECT_NEAR(row[3], 13 / 8.94, 1e-6) << "the day";
      }
    }
  }
}

TEST(Columns, FormulasAreWhatIsComputed) {
  const auto x = [](int i) { return i % 10 == 4 ? std::string() : cat(i * 7 % 23); };
  const CsvTable table = table_of("x", x);
  const ColumnProgram program = fit_all(table, {.label = "y", .ignore = {"z"}});
  const std::string formula = program.feature_formulas()[0];
  double mean = 0, scale = 0, median = 0;
  ASSERT_EQ(std::sscanf(formula.c_str(), "(x - %lf) / %lf, at least -10, at most 10; x is %lf where missing",
                        &mean, &scale, &median),
            3)
      << formula;
  const std::vector<float> inputs = feature(program, program.inputs(table), "x");
  for (int i = 0; i < 40; ++i) {
    const double value = x(i).empty() ? median : i * 7 % 23;
    EXPECT_NEAR(inputs[static_cast<size_t>(i)], (value - mean) / scale, 1e-6);
  }
  EXPECT_EQ(program.feature_formulas()[1], "1 where missing, else 0");
  const ColumnProgram others =
      fit_all(parse_csv("a,b,c,y\nred,yes,2024-05-06 06:00,1.5\nred,no,2024-05-07 12:00,2\n"
                        "blue,yes,2025-01-01 18:00,3\n"),
              {.label = "y", .task = ColumnTask::kRegression});
  const auto names = others.feature_names(), formulas = others.feature_formulas();
  ASSERT_EQ(names.size(), formulas.size());
  const std::vector<float> row =
      others.inputs(parse_csv("a,b,c\nred,no,2024-05-07 12:00\n")).to_vector<float>();
  const std::map<std::string, std::pair<std::string, double>> expected = {
      {"a=red", {"1 where x is \"red\", else 0", 1}},
      {"a=(other)", {"1 where x is none of these, else 0", 0}},
      {"b", {"1 where x is true, yes, t or y, 0 where it is false, no, f or n; 1 where missing", 0}},
      {"c year",
       {"(year - 2024.3333333333333) / 0.4714045207910317, at least -10, at most 10; x is 2024-02-29, "
        "2024/02/29, "
        "20240229, 2024-02 or 2024Q1; a time may follow, 12:30, 12:30:00.5 or 2:30 PM, and a zone, which "
        "does not count; 0 "
        "where "
        "missing",
        -1 / 3.0 / 0.4714045207910317}},
      {"c month cos", {"cos(2 pi (month - 1) / 12); 0 where missing", std::cos(2 * M_PI * 4 / 12)}},
      {"c day", {"(day - 16) / 8.94; 0 where missing", -9 / 8.94}},
      {"c weekday sin", {"sin(2 pi weekday / 7), Monday is 0; 0 where missing", std::sin(2 * M_PI / 7)}},
      {"c hour cos", {"cos(2 pi seconds of the day / 86400); 0 where missing", -1}}};
  for (const auto& [name, what] : expected) {
    const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    ASSERT_LT(at, names.size()) << name;
    EXPECT_EQ(formulas[at], what.first);
    EXPECT_NEAR(row[at], what.second, 1e-6) << name;
  }
  // No truth value counts as missing, which the formula tells apart from 0.
  EXPECT_EQ(feature(others, others.inputs(parse_csv("a,b,c\nred,maybe,\nred,NO,\nred,Yes,\n")), "b"),
            (std::vector<float>{1, 0, 1}));
}

// What trained is told from the mean and the deviation of the saved program, however rare its ones are.
TEST(Columns, NumbersThatWereZerosAndOnesTakeWordsOfTruth) {
  const auto fitted = [](const std::function<std::string(int)>& x) {
    return ColumnProgram::from_json(fit_all(table_of("x", x), {.label = "y", .ignore = {"z"}}).to_json());
  };
  for (const int every : {2, 3, 39}) {
    const ColumnProgram bits = fitted([=](int i) { return i % every ? "0" : "1"; });
    ColumnReport report;
    const std::vector<float> numbers =
        feature(bits, bits.inputs(parse_csv("x,z\n0,1\n1,1\n1,1\n0,1\n")), "x");
    EXPECT_EQ(feature(bits, bits.inputs(parse_csv("x,z\nfalse,1\nTrue,1\nyes,1\nF,1\n"), {}, &report), "x"),
              numbers)
        << every;
    EXPECT_EQ(report.columns[0].unreadable, 0);
    EXPECT_EQ(report.rows_beyond, 0);
    EXPECT_NE(bits.feature_formulas()[0].find("1 where true and 0 where false"), std::string::npos)
        << bits.feature_formulas()[0];
    bits.inputs(parse_csv("x,z\nmaybe,1\n1,1\n"), {}, &report);
    EXPECT_EQ(report.columns[0].unreadable, 1);
  }
  for (const char* const other : {"0.5", "2", "-1", "0.001"}) {
    const ColumnProgram numbers = fitted([=](int i) { return i == 7 ? other : i % 2 ? "0" : "1"; });
    ColumnReport report;
    numbers.inputs(parse_csv("x,z\ntrue,1\n1,1\n"), {}, &report);
    EXPECT_EQ(report.columns[0].unreadable, 1) << other;
  }
}

TEST(Columns, CategoriesAreOneHotWithOthersTogether) {
  // Of 40 rows: red in 20, blue in 10, green in 5, none in 5.
  const CsvTable table = table_of("x", [](int i) {
    return std::string(i % 2 ? "red" : i % 4 ? "blue" : i % 8 ? "green" : "");
  });
  const ColumnProgram program = fit_all(table, {.label = "y", .ignore = {"z"}, .max_categories = 2});
  EXPECT_EQ(program.feature_names(), (Names{"x=red", "x=blue", "x=(other)", "x=(missing)"}));
  EXPECT_EQ(noted(program, "x"),
            "category of 3 values, of which the 2 most frequent stand for themselves and the others (12 %) "
            "together, missing in 12 %; max_categories is 2, a key of the plan that --write-plan writes");
  const CsvTable other = parse_csv("x,more\nblue,1\npurple,1\nred,1\nNA,1\n");
  ColumnReport report;
  EXPECT_EQ(program.inputs(other, {}, &report).to_vector<float>(),
            (std::vector<float>{0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(report.columns[0].other, 1);
  EXPECT_EQ(report.columns[0].usual_other, 0.125);
  EXPECT_EQ(report.columns[0].missing, 1);
  // Without a missing cell in training, a missing one is among the others.
  const ColumnProgram full = fit_all(table_of("x", [](int i) { return std::string(i % 3 ? "a" : "b"); }),
                                     {.label = "y", .ignore = {"z"}});
  EXPECT_EQ(full.inputs(parse_csv("x\n\"\"\na\n", {.header = CsvHeader::kYes})).to_vector<float>(),
            (std::vector<float>{0, 0, 1, 1, 0, 0}));
}

TEST(Columns, CategoriesOfOneRowShareAnInputInALargeTable) {
  const CsvTable table = table_of(
      "x", [](int i) { return i % 50 == 7 ? cat("rare ", i)
                              : i % 2     ? cat("odd")
                                          : cat("even"); }, 200);
  const ColumnProgram program = fit_all(table, {.label = "y", .ignore = {"z"}});
  EXPECT_EQ(program.feature_names(), (Names{"x=even", "x=odd", "x=(other)"}));
  EXPECT_EQ(noted(program, "x"),
            "category of 6 values, of which the 2 most frequent stand for themselves and the others (2 %) "
            "together");
}

TEST(Columns, BooleansAndDates) {
  const CsvTable table = parse_csv(
      "ok,day,y\nyes,2024-01-01T06:00,a\nNO,2024-07-31T18:00,b\nyes,?,a\n,2026-04-16T00:00,b\nyes,2024-01-"
      "01T00:00,b\n");
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(program.feature_names(),
            (Names{"ok", "ok missing", "day year", "day month sin", "day month cos", "day day",
                   "day weekday sin", "day weekday cos", "day hour sin", "day hour cos", "day missing"}));
  const Tensor x = program.inputs(table);
  EXPECT_EQ(feature(program, x, "ok"), (std::vector<float>{1, 0, 1, 1, 1}));
  EXPECT_EQ(feature(program, x, "ok missing"), (std::vector<float>{0, 0, 0, 1, 0}));
  EXPECT_EQ(feature(program, x, "day missing"), (std::vector<float>{0, 0, 1, 0, 0}));
  // Years 2024, 2024, 2026, 2024: mean 2024.5, deviation sqrt(0.75).
  const std::vector<float> years = feature(program, x, "day year");
  EXPECT_NEAR(years[0], -0.5 / std::sqrt(0.75), 1e-6);
  EXPECT_NEAR(years[3], 1.5 / std::sqrt(0.75), 1e-6);
  EXPECT_EQ(years[2], 0);
  // January is the beginning of its cycle, July its middle, April its quarter.
  EXPECT_NEAR(feature(program, x, "day month cos")[0], 1, 1e-6);
  EXPECT_NEAR(feature(program, x, "day month cos")[1], -1, 1e-6);
  EXPECT_NEAR(feature(program, x, "day month sin")[3], 1, 1e-6);
  EXPECT_NEAR(feature(program, x, "day day")[3], 0, 1e-6);
  EXPECT_GT(feature(program, x, "day day")[1], 1);
  // 2024-01-01 was a Monday, 2024-07-31 a Wednesday.
  EXPECT_NEAR(feature(program, x, "day weekday sin")[0], 0, 1e-6);
  EXPECT_NEAR(feature(program, x, "day weekday sin")[1], std::sin(2 * std::numbers::pi * 2 / 7), 1e-6);
  EXPECT_NEAR(feature(program, x, "day hour sin")[0], 1, 1e-6);
  EXPECT_NEAR(feature(program, x, "day hour sin")[1], -1, 1e-6);
  EXPECT_NEAR(feature(program, x, "day hour cos")[3], 1, 1e-6);
}

TEST(Columns, AreFoundByNameAndElseByPlace) {
  const CsvTable table = parse_csv("a,b,y\n1,5,x\n2,9,z\n3,7,x\n");
  const ColumnProgram program = fit_all(table, {.label = "y"});
  const std::vector<float> expected = program.inputs(table).to_vector<float>();
  EXPECT_EQ(program.inputs(parse_csv("b,new,a\n5,?,1\n9,?,2\n7,?,3\n")).to_vector<float>(), expected);
  EXPECT_FALSE(program.has_label(parse_csv("b,a\n5,1\n")));
  const CsvTable bare = parse_csv("1,5\n2,9\n3,7\n");
  EXPECT_EQ(program.inputs(bare).to_vector<float>(), expected);
  EXPECT_FALSE(program.has_label(bare));
  const CsvTable labelled = parse_csv("1,5,x\n2,9,z\n3,7,x\n");
  EXPECT_EQ(program.inputs(labelled).to_vector<float>(), expected);
  EXPECT_EQ(program.labels(labelled).to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(rule_of([&] { program.inputs(parse_csv("1,2,3,4\n5,6,7,8\n")); }), "columns.count");
  EXPECT_EQ(rule_of([&] { program.labels(bare); }), "csv.column");
  EXPECT_EQ(rule_of([&] { program.inputs(table, std::vector<int64_t>{3}); }), "columns.rows");
  EXPECT_EQ(rule_of([&] { program.inputs(table, std::vector<int64_t>{-1}); }), "columns.rows");
  try {
    program.inputs(parse_csv("aa,b\n1,5\n"));
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(),
              "the table lacks a column that is needed: \"a\" (perhaps \"aa\"); it has aa, b");
  }
  // The label may stand anywhere.
  const CsvTable first = parse_csv("y,a,b\nx,1,5\nz,2,9\nx,3,7\n");
  EXPECT_EQ(fit_all(first, {.label = "y"}).inputs(bare).to_vector<float>(), expected);
}

TEST(Columns, EveryMissingColumnIsNamed) {
  std::string names = "y", row = "a", other = "b";
  for (int i = 0; i < 14; ++i) {
    names += cat(",income_", i);
    row += cat(",", i);
    other += cat(",", i + 1);
  }
  const ColumnProgram program = fit_all(parse_csv(cat(names, "\n", row, "\n", other, "\n")), {.label = "y"});
  try {
    program.inputs(parse_csv("Income_0,income_1,x\n1,2,3\n"));
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "csv.column");
    const std::string text = error.message();
    EXPECT_TRUE(
        text.starts_with("the table lacks columns that are needed: \"income_0\" (perhaps \"Income_0\"), "
                         "\"income_2\" (perhaps \"income_1\"), "))
        << text;
    EXPECT_TRUE(text.ends_with(" and 3 more; it has Income_0, income_1, x")) << text;
  }
}

TEST(Columns, OnlyTrainingRowsAreLookedAt) {
  const std::string training = "x,c,y\n1,p,a\n2,q,b\n4,p,a\n3,q,b\n";
  const CsvTable small = parse_csv(training), large = parse_csv(training + "1e9,r,c\n?,s,\nword,t,d\n");
  const std::vector<int64_t> rows{0, 1, 2, 3};
  EXPECT_EQ(ColumnProgram::fit(large, rows, {.label = "y"}).to_json(),
            ColumnProgram::fit(small, rows, {.label = "y"}).to_json());
}

TEST(Columns, JsonIsTheProgram) {
  const CsvTable table = parse_csv(
      "n,c,b,d,y\n1,p,yes,2024-01-01,3.5\n?,q,no,2025-06-05T10:00,800\n3,\"q\"\"x\",,?,2\n\"1,234\",,no,2024-"
      "03-03,1\n");
  for (const char* label : {"y", "c"}) {
    const ColumnProgram program = ColumnProgram::fit(table, std::vector<int64_t>{0, 1, 2},
                                                     {.label = label, .kinds = {{"d", ColumnKind::kDate}}});
    const std::string json = program.to_json();
    const ColumnProgram again = ColumnProgram::from_json(json);
    EXPECT_EQ(again.to_json(), json);
    EXPECT_EQ(again.inputs(table).to_vector<float>(), program.inputs(table).to_vector<float>());
    EXPECT_EQ(again.feature_names(), program.feature_names());
    EXPECT_EQ(again.classes(), program.classes());
    EXPECT_EQ(again.label_mean(), program.label_mean());
    EXPECT_EQ(again.notes().size(), program.notes().size());
  }
}

TEST(Columns, WrongJsonNamesTheField) {
  const CsvTable table = parse_csv("n,c,y\n1,p,a\n2,q,b\n3,p,a\n");
  const std::string json = fit_all(table, {.label = "y"}).to_json();
  const auto error = [](const std::string& text) {
    try {
      ColumnProgram::from_json(text);
    } catch (const FormatError& e) {
      return cat(e.rule(), " ", e.message());
    }
    return std::string("no error");
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return error(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(error(json), "no error");
  EXPECT_EQ(error("").substr(0, 24), "columns.json the program");
  EXPECT_EQ(error("[]"), "columns.json the program: must be an object");
  EXPECT_EQ(error(std::string(100000, '[')), "columns.json the program: the text has more than 8 levels");
  EXPECT_EQ(error("{\"format\": \"\xff\"}").substr(0, 45), "columns.json the program: the text is no JSON");
  EXPECT_EQ(error(std::string((size_t{16} << 20) + 1, ' ')).substr(0, 38),
            "columns.json the program: the text has");
  EXPECT_EQ(changed("espalier.columns", "other"), "columns.json format: must be espalier.columns, version 1");
  EXPECT_EQ(changed("\"version\": 1", "\"version\": 2"),
            "columns.json format: must be espalier.columns, version 1");
  EXPECT_EQ(changed("\"median\": 2.0", "\"median\": \"2\""),
            "columns.json steps[0].median: must be a number");
  EXPECT_EQ(changed("\"mean\"", "\"meen\""), "columns.json steps[0].mean: is missing");
  EXPECT_EQ(changed("\"scale\": 0", "\"scale\": -0"), "columns.json steps[0]: scale must be positive");
  EXPECT_EQ(changed("\"plain\"", "\"fancy\""), "columns.json steps[0].style: is none of the known names");
  EXPECT_EQ(changed("\"numeric\"", "\"number\""),
            "columns.json steps[0].kind: is none of numeric, category, boolean, date");
  EXPECT_EQ(changed("\"column\": \"c\"", "\"column\": \"n\""),
            "columns.json steps[1].column: is none of the columns, or a second step of one");
  EXPECT_EQ(changed("\"column\": \"n\"", "\"column\": \"y\"").substr(0, 28), "columns.json steps[0].column");
  EXPECT_EQ(changed("\"q\"", "\"p\""), "columns.json steps[1]: category \"p\" stands there twice");
  EXPECT_EQ(changed("\"b\"", "7"), "columns.json label.classes: must hold strings only");
  EXPECT_EQ(changed("\"numbered\": false", "\"numbered\": 0"),
            "columns.json numbered: must be true or false");
}

TEST(Columns, ErrorsNameTheUsersLine) {
  const CsvTable table = parse_csv("x,y\n1,a\n2,b\n");
  try {
    fit_all(table, {.label = "z"});
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find(" at column_tables_test.h:"), std::string::npos) << error.what();
  }
}

// Fitted on decimal commas, met with points.
TEST(Columns, AnotherSignForThePointIsReadWhereTheTableShowsIt) {
  std::string commas = "size;price;day;y\n";
  for (int i = 0; i < 40; ++i)
    commas += cat(150 + i, ",5;1.", 200 + i, ",25;", 10 + i % 15, ".06.2022;", i % 2 ? "a\n" : "b\n");
  const ColumnProgram program = fit_all(parse_csv(commas), {.label = "y"});
  const auto inputs = [&](const std::string& rows, ColumnReport& report) {
    return program.inputs(parse_csv("size;price;day\n" + rows), {}, &report).to_vector<float>();
  };
  ColumnReport as_fitted, other, mixed, doubtful;
  const auto expected = inputs("181,4;1.234,25;15.06.2022\n160,5;1234;12.06.2022\n", as_fitted);
  EXPECT_FALSE(as_fitted.other_point);
  EXPECT_EQ(inputs("181.4;1234.25;2022-06-15\n160.5;1234;2022-06-12\n", other), expected);
  EXPECT_TRUE(other.other_point);
  for (const auto& column : other.columns) EXPECT_EQ(column.unreadable, 0) << column.name;
  EXPECT_TRUE(program.beyond(parse_csv("size;price;day\n181.4;1234.25;2022-06-15\n"))[0].empty());
  // Where some cells are as in training, nothing is guessed of the others.
  inputs("181.4;1.234,25;15.06.2022\n", mixed);
  EXPECT_FALSE(mixed.other_point);
  EXPECT_EQ(mixed.columns[0].unreadable, 1);
  EXPECT_EQ(mixed.columns[0].cell, "181.4");
  EXPECT_EQ(mixed.columns[0].written, "1234,5");
  // 1.234 is a number either way.
  inputs("160;1.234;15.06.2022\n", doubtful);
  EXPECT_FALSE(doubtful.other_point);
  EXPECT_EQ(doubtful.columns[1].beyond, 0);
  // The other way, and labels.
  std::string points = "size,y\n";
  for (int i = 0; i < 40; ++i) points += cat(150 + i, ".5,", i, ".25\n");
  const ColumnProgram numbers = fit_all(parse_csv(points), {.label = "y"});
  const CsvTable met = parse_csv("size;y\n160,5;7,25\n"), plain = parse_csv("size,y\n160.5,7.25\n");
  EXPECT_EQ(numbers.inputs(met).to_vector<float>(), numbers.inputs(plain).to_vector<float>());
  EXPECT_EQ(numbers.labels(met).to_vector<float>(), numbers.labels(plain).to_vector<float>());
  EXPECT_EQ(rule_of([&] { numbers.labels(parse_csv("size;y\n1,234;2,345\n")); }), "columns.label");
}

TEST(Columns, WholeNumbersThatAreClassesNameTheOtherTask) {
  std::string text = "x,y\n";
  for (int i = 0; i < 60; ++i) text += cat(i * 7 % 31, ",", 3 + i % 6, "\n");
  const CsvTable table = parse_csv(text);
  EXPECT_NE(noted(fit_all(table, {.label = "y"}), "y").find("; as a number: --task number"),
            std::string::npos);
  const ColumnOptions told{.label = "y", .task = ColumnTask::kClassification};
  EXPECT_EQ(noted(fit_all(table, told), "y").find("--task"), std::string::npos);
}

TEST(Columns, ManyCategoriesSayWhereTheirNumberIsChanged) {
  const CsvTable table = table_of("x", [](int i) { return cat("w", i % 10); });
  const std::string note = noted(fit_all(table, {.label = "y", .max_categories = 3}), "x");
  EXPECT_NE(note.find("max_categories is 3, a key of the plan that --write-plan writes"), std::string::npos)
      << note;
}

}  // namespace
}  // namespace espalier
