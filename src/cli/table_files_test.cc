// The command on files as people have them.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

// A model of two columns, trained for no epoch, and what verbs say of other files.
class TableFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    return write_file(folder_ + "/" + name, text);
  }
  const std::string& folder() const { return folder_; }
  std::string fresh() const { return folder_ + "/new.csv"; }
  std::string model() const { return folder_ + "/model"; }
  // What training says.
  std::string train(const std::string& text, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "--data", file("train.csv", text), "--label", "paid", "--model", model(), "--epochs", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string said;
    call_verb(add_train, arguments, "", &said);
    return said;
  }
  std::string said_of(const std::string& text, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {model(), file("new.csv", text)});
    std::string said;
    call_verb(add_predict, more, "", &said);
    return said;
  }
  // Message and fix.
  template <class F>
  static std::string error_of(F call) {
    try {
      call();
    } catch (const Error& error) {
      return cat(error.message(), " -> ", error.fix());
    }
    return "accepted";
  }
  static std::string people(const std::string& before = "", const std::string& ending = "") {
    std::string text = cat(before, "age,day,paid", ending, "\n");
    for (int i = 0; i < 60; ++i)
      text += cat(i % 3 == 0   ? 17
                  : i % 3 == 1 ? 76
                               : 40,
                  ",2019-02-", i % 2 ? 10 : 28, i * i % 7 < 3 ? ",yes" : ",no", ending, "\n");
    return text;
  }

 private:
  const std::string folder_ =
      fresh_folder(cat("files-", testing::UnitTest::GetInstance()->current_test_info()->name()));
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST_F(TableFiles, AllMissingColumnsAreNamed) {
  train(people());
  EXPECT_EQ(error_of([&] { said_of("Age,weight\n1,2\n3,4\n"); }),
            cat(fresh(),
                ": the table lacks columns that are needed: \"age\" (perhaps \"Age\"), \"day\"; "
                "it has Age, weight -> write in its line of names \"age\" for \"Age\""));
}

TEST_F(TableFiles, OfTestRowsTheLabelAndAllOthersAreNamed) {
  train(people());
  const std::string data = file("new.csv", "weight\n1\n");
  const std::string lacking =
      cat(data, ": the table lacks columns that are needed: \"paid\", \"age\", \"day\"; it has weight -> ");
  EXPECT_EQ(
      error_of([&] {
        call_verb(add_evaluate, {model(), data});
      }),
      lacking + "add what is lacking, empty where nothing is known, or train without it: --ignore COLUMN");
  std::string said;
  const auto trained = [&] {
    call_verb(add_train,
              {"--data", folder() + "/train.csv", "--test", data, "--label", "paid", "--model",
               folder() + "/other", "--epochs", "1"},
              "", &said);
  };
  EXPECT_EQ(
      error_of(trained),
      lacking +
          "test rows have the columns of the training rows; without --test a share of --data is the test");
  EXPECT_FALSE(holds(said, "age: numeric")) << "before the columns are told: " << said;
}

TEST_F(TableFiles, AColumnThatCannotBeReadShowsACellAndHowTrainingWroteIt) {
  std::string text = "size;paid\n";
  for (int i = 0; i < 60; ++i) text += cat(150 + i, i % 2 ? ",5;" : ",25;", i * i % 7 < 3 ? "yes\n" : "no\n");
  EXPECT_TRUE(holds(train(text), "numeric, 150.25 to 209.5, written as 1234,5\n"));
  EXPECT_EQ(said_of("size\n181.4\n"),
            "warning: numbers have a point where training had a comma, or the other way, and are read so\n"
            "warning: fault: column \"size\": 1 of 1 cells is of another form than in the training rows\n");
  EXPECT_EQ(
      error_of([&] { said_of("size\ntall\nsmall\n"); }),
      cat(fresh(),
          ": no cell of column \"size\" can be read as in training; the first is in line 2, "
          "\"tall\", where training has cells like 1234,5 -> look at --delimiter, decimal commas, units "
          "and the order of columns"));
}

TEST_F(TableFiles, LineBreaksInValuesKeepTablesWhole) {
  std::string text = "town,age,paid\n";
  for (int i = 0; i < 80; ++i)
    text += cat(i % 3 ? "\"Bad\nHomburg\"," : "Ulm,", i, i * i % 7 < 3 ? ",yes\n" : ",no\n");
  train(text);
  const std::string evaluated =
      call_verb(add_evaluate, {model(), folder() + "/train.csv", "--all-rows", "--slice", "town"});
  EXPECT_TRUE(holds(evaluated, "town=Bad\\nHomburg")) << evaluated;
  EXPECT_FALSE(holds(evaluated, "\nHomburg")) << evaluated;
}

TEST_F(TableFiles, OtherSpellingsOfNamesAreNamed) {
  std::string text = "sepal length,Petal_Width,paid\n";
  for (int i = 0; i < 60; ++i) text += cat(i * 7 % 60, ",", i % 9, i * i % 7 < 3 ? ",yes\n" : ",no\n");
  train(text);
  EXPECT_EQ(said_of("sepal length,Petal_Width\n1,2\n"), "");
  for (const char* names : {"Sepal_Length,petal width", "SEPALLENGTH,petal-width",
                            "\xef\xbb\xbf\xef\xbb\xbfsepal_length,petal_width"}) {
    const std::string said = error_of([&] { said_of(cat(names, "\n1,2\n3,4\n")); });
    EXPECT_TRUE(holds(said, "-> write in its line of names \"sepal length\" for \"")) << said;
    EXPECT_TRUE(holds(said, ", \"Petal_Width\" for \"petal")) << said;
  }
  // Two of them: which one is meant?
  EXPECT_TRUE(holds(error_of([&] { said_of("Sepal length,sepal_length,Petal_Width\n1,2,3\n4,5,6\n"); }),
                    "-> add what is lacking"));
}

TEST_F(TableFiles, AnotherDelimiterIsNamed) {
  train(people());
  const std::string text = "age;day\n30;2019-02-12\n31;2019-02-13\n";
  EXPECT_EQ(said_of(text), "");
  EXPECT_EQ(
      error_of([&] {
        said_of(text, {"--delimiter", ","});
      }),
      "new.csv has one column, \"age;day\": --delimiter ',' does not part its lines -> --delimiter ';'");
  EXPECT_EQ(
      error_of([&] {
        said_of(text, {"--delimiter", ",", "--header", "no"});
      }),
      "new.csv has one column, \"age;day\": --delimiter ',' does not part its lines -> --delimiter ';'");
  EXPECT_EQ(error_of([&] {
              said_of("age day\n30 2019-02-12\n", {"--delimiter", ","});
            }),
            "new.csv has one column, \"age day\": --delimiter ',' does not part its lines -> ");
  EXPECT_TRUE(
      holds(error_of([&] { said_of("\"age;day\"\n\"30;2019-02-12\"\n"); }),
            "each line stands in quotes as a whole, with ';' between its cells -> save the table again"));
  EXPECT_TRUE(holds(error_of([&] { train(people(), {"--delimiter", "|"}); }), "-> --delimiter ','"));
  // One column may be all that a model needs.
  train("age,paid\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n10,b\n11,a\n12,b\n");
  EXPECT_EQ(said_of("age\n5\n6\n", {"--delimiter", ";"}), "");
}

TEST_F(TableFiles, TitlesAndDelimitersAtTheEndAreSaid) {
  const std::string said = train(people("Customers\n", ","));
  EXPECT_TRUE(holds(said, "train.csv: line 1 is passed over as a title: \"Customers\"\n")) << said;
  EXPECT_TRUE(holds(said, "train.csv: every line ends in a delimiter")) << said;
  EXPECT_TRUE(holds(said, "60 rows, 3 columns;")) << said;
  EXPECT_TRUE(holds(said_of("New ones\nage,day\n30,2019-02-12\n"), "new.csv: line 1 is passed over"));
}

TEST_F(TableFiles, ColumnsThatAreSetAsideAreIncludedOnDemand) {
  std::string text = "customer_id,age,paid\n";
  for (int i = 0; i < 60; ++i) text += cat(i, ",", i * 7 % 60, i * i % 7 < 3 ? ",yes\n" : ",no\n");
  EXPECT_TRUE(holds(
      train(text), "customer_id: set aside: an identifier: every value differs (--include COLUMN keeps it)"));
  EXPECT_TRUE(holds(train(text, {"--include", "customer_id"}), "customer_id: numeric, 0 to 59"));
  const std::string plan =
      call_verb(add_train, {"--data", "x.csv", "--label", "y", "--include", "a, b", "--write-plan"});
  EXPECT_TRUE(holds(plan, "\ninclude = [\"a\", \"b\"]")) << plan;
}

TEST_F(TableFiles, SpreadsheetsAreNamed) {
  train(people());
  EXPECT_EQ(error_of([&] { said_of("PK\x03\x04 [Content_Types].xml"); }),
            cat(fresh(), ": this is a spreadsheet (.xlsx), no text -> open it and save the sheet as CSV"));
}

TEST_F(TableFiles, SpellingsOfALabelAreMergedOnDemand) {
  std::string text = people(), shouted = text;
  for (size_t at = 0; (at = shouted.find(",yes", at)) != shouted.npos; at += 30)
    shouted.replace(at, 4, ",YES");
  EXPECT_TRUE(holds(train(shouted), "are they one? (--merge-labels)"));
  EXPECT_TRUE(holds(train(shouted, {"--merge-labels"}), "the label, 2 classes: "));
  const auto evaluated = nlohmann::json::parse(call_verb(
      add_evaluate,
      {model(), file("other.csv", "age,day,paid\n30,2019-02-12,Yes\n31,2019-02-13,nO\n"), "--json"}));
  EXPECT_EQ(evaluated["rows"], 2);
}

TEST_F(TableFiles, WhatLiesBeyondTheTrainingRowsIsSaid) {
  train(people());
  EXPECT_EQ(said_of("age,day\n30,2019-02-12\n"), "");
  EXPECT_EQ(said_of("age,day\n30,2019-02-12\n99,2019-02-12\n12,2020-01-01\n"),
            "warning: age: 2 of 3 rows outside 17 to 76, which training saw\n"
            "warning: day: 1 of 3 rows outside 2019-02-10 to 2019-02-28, which training saw\n"
            "warning: in all 2 of 3 rows outside of what training saw, in 2 columns\n");
}

// Each line of standard error that begins so is an element of the JSON, in its order.
TEST_F(TableFiles, WarningsStandInTheJsonOfEveryVerb) {
  train(people());
  const std::string odd = "age,day,paid\n30,2019-02-12,yes\n99,soon,no\n40,2019-02-12,\n";
  const auto check = [&](AddVerb add, std::vector<std::string> arguments, const std::string& part) {
    std::string said, lines;
    arguments.emplace_back("--json");
    const auto json = nlohmann::json::parse(call_verb(add, arguments, "", &said));
    for (const std::string warning : json.at("warnings")) {
      lines += cat("warning: ", warning, "\n");
      EXPECT_TRUE(holds(said, cat("warning: ", warning, "\n"))) << said;
    }
    EXPECT_TRUE(holds(lines, part)) << lines;
    size_t count = 0;
    for (size_t at = 0; (at = said.find("warning: ", at)) != said.npos; ++at) ++count;
    EXPECT_EQ(json["warnings"].size(), count) << said;
  };
  check(add_predict, {model(), file("odd.csv", odd)}, "age: 1 of 3 rows outside 17 to 76");
  check(add_evaluate, {model(), file("odd.csv", odd)}, "1 of 3 rows of ");
  check(add_quantize, {model(), "--calibrate", file("odd.csv", odd), "--out", model() + "8"},
        "day: 1 of 3 cells cannot be read");
  check(add_train,
        {"--data", file("train.csv", people() + "17,2019-02-10,\n"), "--label", "paid", "--model", model(),
         "--epochs", "0", "--test", file("train.csv", people() + "17,2019-02-10,\n")},
        "1 row has no value of \"paid\" and is left out");
  EXPECT_EQ(nlohmann::json::parse(call_verb(
                add_predict, {model(), file("fine.csv", "age,day\n30,2019-02-12\n"), "--json"}))["warnings"],
            nlohmann::json::array());
}

TEST_F(TableFiles, AColumnWithoutANameIsKnownAgain) {
  std::string text = "age,,paid\n", fresh = "age,\n";
  for (int i = 0; i < 60; ++i) {
    text += cat(20 + i * 7 % 40, i % 3 ? ",red" : ",blue", i % 2 ? ",yes\n" : ",no\n");
    fresh += cat(20 + i * 11 % 40, i % 3 ? ",red\n" : ",blue\n");
  }
  const std::string data = file("nameless.csv", text);
  call_verb(add_train,
            {"--data", data, "--label", "paid", "--model", model(), "--epochs", "1", "--header", "yes"});
  const std::string said = call_verb(add_predict, {model(), file("fresh.csv", fresh)});
  EXPECT_EQ(std::ranges::count(said, '\n'), 61) << said.substr(0, 100);
  EXPECT_EQ(rule_of([&] { call_verb(add_evaluate, {model(), data}); }), "nothing");
}

TEST_F(TableFiles, NumbersWithACommaAloneInALineStandInQuotes) {
  std::string text = "alter;miete\n";
  for (int i = 0; i < 60; ++i) text += cat(20 + i, ";", i * 17 % 400, ",", i % 9 + 1, "\n");
  const std::string data = file("komma.csv", text);
  call_verb(add_train,
            {"--data", data, "--label", "miete", "--task", "number", "--model", model(), "--epochs", "1"});
  const std::string out = folder() + "/gesagt.csv";
  call_verb(add_predict, {model(), data, "--out", out});
  const CsvTable table = read_csv(out);
  EXPECT_EQ(table.names(), std::vector<std::string>{"prediction"});
  EXPECT_EQ(table.rows(), 60);
  EXPECT_TRUE(table.numbers().plain_number(table.cell(0, 0), 0).has_value()) << table.cell(0, 0);
}

TEST_F(TableFiles, WhatComesNextIsNotTheTrainingData) {
  const auto next_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", file("train.csv", people()), "--label", "paid", "--model", model(),
                               "--epochs", "0"});
    const std::string text = call_verb(add_train, more);
    return text.substr(text.rfind("next: "));
  };
  const std::string data = folder() + "/train.csv", test = file("test.csv", people());
  const std::string gates = folder() + "/gates.toml";  // beside the model
  // Rows that the model was not trained on.
  EXPECT_EQ(next_of({}), cat("next: espalier check ", model(), " ", data, " --init --out ", gates, "\n"));
  EXPECT_EQ(next_of({"--delimiter", ","}),
            cat("next: espalier check ", model(), " ", data, " --init --out ", gates, " --delimiter ,\n"));
  EXPECT_EQ(next_of({"--test", test}),
            cat("next: espalier check ", model(), " ", test, " --init --out ", gates, "\n"));
  const auto next_of_numbers = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", data, "--label", "age", "--task", "number", "--model",
                               model() + "-age", "--epochs", "0"});
    const std::string text = call_verb(add_train, more);
    return text.substr(text.rfind("next: "));
  };
  EXPECT_EQ(next_of_numbers({}), cat("next: espalier check ", model(), "-age ", data, " --init --out ",
                                     folder(), "/model-age-gates.toml\n"));
  EXPECT_EQ(next_of_numbers({"--test", test}), cat("next: espalier check ", model(), "-age ", test,
                                                   " --init --out ", folder(), "/model-age-gates.toml\n"));
}

TEST_F(TableFiles, AFileThatIsNotThereIsToldByItsNeighbours) {
  train(people());
  const auto asked = [&](AddVerb add, const std::vector<std::string>& arguments) {
    return error_of([&] { call_verb(add, arguments); });
  };
  const auto learn = [&](const std::string& data) {
    return asked(add_train, {"--data", data, "--label", "paid", "--model", model()});
  };
  EXPECT_EQ(
      learn(folder() + "/trian.csv"),
      cat("cannot read ", folder(), "/trian.csv: no such file -> did you mean ", folder(), "/train.csv?"));
  EXPECT_EQ(asked(add_train, {"--data", folder() + "/trian.csv"}), learn(folder() + "/trian.csv"));
  EXPECT_EQ(learn(folder()),
            cat("cannot read ", folder(),
                ": it is a folder, and a table is a file -> name a table in it: ", folder(), "/train.csv"));
  EXPECT_TRUE(learn(model()).ends_with("-> name a table: this is a saved model")) << learn(model());
  EXPECT_TRUE(learn(file("head.csv", "age,day,paid\n")).starts_with(cat(folder(), "/head.csv has no rows")));
  const std::string data = file("new.csv", people());
  for (const AddVerb add : {add_predict, add_evaluate}) {
    EXPECT_EQ(asked(add, {data, model()}), cat(data, " is no saved model, and ", model(),
                                               " is one -> the model comes first: ", model(), " ", data));
  }
  EXPECT_EQ(asked(add_check, {data, model(), "--init"}), asked(add_predict, {data, model()}));
  const std::string modle = folder() + "/modle", out = folder() + "/net.c";
  const std::string no_model =
      cat(modle, " is no saved model: there is no ", modle, "/model.json -> did you mean ", model(), "?");
  for (const AddVerb add : {add_predict, add_evaluate}) EXPECT_EQ(asked(add, {modle, data}), no_model);
  EXPECT_EQ(asked(add_check, {modle, data, "--init"}), no_model);
  EXPECT_EQ(asked(add_export, {modle, "--to", "c", "--out", out}), no_model);
  EXPECT_EQ(asked(add_lineage, {modle}), no_model);
  EXPECT_TRUE(asked(add_info, {modle}).ends_with(cat("-> did you mean ", model(), "?")));
  EXPECT_EQ(asked(add_predict, {folder() + "/other", data}),
            cat(folder(), "/other is no saved model: there is no ", folder(), "/other/model.json -> "));
  const std::string gates = file("gates.toml", "");
  EXPECT_EQ(asked(add_check, {model(), data, "--gates", folder() + "/gaets.toml"}),
            cat("cannot read ", folder(), "/gaets.toml: no such file -> did you mean ", gates, "?"));
  EXPECT_TRUE(asked(add_check, {model(), data, "--gates", folder() + "/nope.toml"}).ends_with("-> "))
      << "the ending of a name is not what is near";
  EXPECT_TRUE(asked(add_train, {data}).starts_with(cat(data, " looks like a table, and a plan is TOML -> ")));
  EXPECT_NE(asked(add_train, {data}).find(cat("train --data ", data, " --label COLUMN")), std::string::npos);
}

TEST_F(TableFiles, FiveColumnsAreNamed) {
  std::string text = "a,b,c,d,e,f,g,paid\n", other = text.substr(0, text.size() - 6) + "\n";
  for (int i = 0; i < 80; ++i) {
    for (int c = 0; c < 7; ++c) text += cat((i + c) % 3 * 5, ",");
    text += i * i % 7 < 3 ? "yes\n" : "no\n";
  }
  train(text);
  const std::string said = said_of(other + "99,99,99,99,99,99,99\n5,5,5,5,5,99,99\n");
  EXPECT_TRUE(
      said.starts_with("warning: f: 2 of 2 rows outside 0 to 10, which training saw\n"
                       "warning: g: 2 of 2 rows outside"))
      << said;
  EXPECT_TRUE(
      said.ends_with("warning: c: 1 of 2 rows outside 0 to 10, which training saw\n"
                     "warning: in all 2 of 2 rows outside of what training saw, in 7 columns\n"
                     "warning: fault: column \"f\": 2 of 2 rows lie above and 0 below all training rows\n"
                     "warning: fault: column \"g\": 2 of 2 rows lie above and 0 below all training rows\n"))
      << said;
}

TEST_F(TableFiles, AmountsOfASwissTableAreNumbersAndInfoSaysSo) {
  std::string text = "price;weight;paid\n";
  for (int i = 0; i < 60; ++i)
    text +=
        cat("CHF ", 1 + i, "'", 200 + i, ".50;", 40 + i * 7 % 60, " kg;", i * i % 7 < 3 ? "yes\n" : "no\n");
  const std::string said = train(text);
  EXPECT_TRUE(holds(said, "in CHF, written as 1'234.5\n")) << said;
  const std::string info = call_verb(add_info, {model()});
  EXPECT_TRUE(holds(info, "learned   paid as ")) << info;
  EXPECT_TRUE(holds(info, ", in kg\n")) << info;
  const auto json = nlohmann::json::parse(call_verb(add_info, {model(), "--json"}));
  EXPECT_EQ(json["columns"]["features"], (std::vector<std::string>{"price", "weight"}));
  EXPECT_EQ(json["columns"]["notes"].size(), 3u);
  EXPECT_EQ(said_of("price;weight\n2’300.00 CHF;45 kg\n"), "");
  // Without its unit 45 is read as well, and may be one of another.
  EXPECT_EQ(
      said_of("price;weight\n2’300.00 CHF;45\n"),
      "warning: weight: 1 of 1 numbers are written in another form than in training: 1234.5 kg there, 45 "
      "here, the first in line 2; they are read as if they had the unit\n");
}

}  // namespace
}  // namespace espalier::cli
