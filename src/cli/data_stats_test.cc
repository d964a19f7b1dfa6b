#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "validate/metadata_files.h"

namespace espalier::cli {
namespace {

const char* const kDataStatsTable = "age;job;w\n17;clerk;1\n?;smith;2\n90;clerk;1\n0;;4\n";

TEST(DataStatsOfTables, AreTables) {
  const std::string folder = fresh_folder("data-stats"),
                    file = write_file(folder + "/people.csv", kDataStatsTable);
  std::string progress;
  const std::string tables =
      "4 rows, 3 features\n"
      "\n"
      "feature  count  missing     mean  deviation  zeros  min  median  max\n"
      "-------  -----  -------  -------  ---------  -----  ---  ------  ---\n"
      "age          3        1  35.6667    39.0413      1    0      17   90\n"
      "w            4        0        2    1.22474      0    1     1.5    4\n"
      "\n"
      "feature  type    count  missing  unique  top    times  mean bytes\n"
      "-------  ------  -----  -------  ------  -----  -----  ----------\n"
      "job      STRING      3        1       2  clerk      2           5\n";
  const std::string shown = call_verb(add_data, {"stats", file, "--missing", "?"}, "", &progress);
  EXPECT_TRUE(shown.starts_with(tables)) << shown;
  EXPECT_TRUE(shown.ends_with(cat("\nnext: espalier data stats ", file, " --missing '?' --out stats.pb\n")))
      << shown;
  EXPECT_EQ(progress, "4 rows read of people.csv\n");
  EXPECT_EQ(call_verb(add_data, {"stats", "-", "--missing", "?", "--delimiter", ";"}, kDataStatsTable),
            tables + "next: espalier data stats --help\n");
}

TEST(DataStatsOfTables, HaveWeightsSlicesAndForms) {
  const std::string folder = fresh_folder("data-stats-forms"),
                    file = write_file(folder + "/people.csv", kDataStatsTable);
  EXPECT_TRUE(
      is_next(call_verb(add_data, {"stats", file, "--missing", "?", "--weight", "w", "--slice", "job",
                                   "--empty-cell", "present", "--threads", "2", "--out", folder + "/x.pb"})));
  tfmd::DatasetFeatureStatisticsList list;
  read_metadata(folder + "/x.pb", list);
  ASSERT_EQ(list.datasets_size(), 3);
  EXPECT_EQ(list.datasets(0).weighted_num_examples(), 8);
  EXPECT_EQ(list.datasets(1).name(), "job_clerk");
  const auto json = nlohmann::json::parse(call_verb(add_data, {"stats", file, "--json", "--missing", "?"}));
  EXPECT_EQ(json.at("verb"), "data stats");
  EXPECT_EQ(json.at("rows"), 4);
  EXPECT_EQ(json.at("stats").at("datasets").at(0).at("features").at(0).at("num_stats").at("max"), 90);
  // What was written is shown and converted as other statistics are.
  EXPECT_TRUE(is_next(call_verb(add_data, {"stats", folder + "/x.pb", "--out", folder + "/x.pbtxt"})));
  EXPECT_TRUE(
      call_verb(add_data, {"stats", folder + "/x.pbtxt"}).starts_with("All Examples: 4 rows, 3 features\n"));
}

TEST(DataStatsOfTables, HavePairsOfColumnsWhereTheyAreAskedFor) {
  const std::string folder = fresh_folder("data-stats-cross");
  const std::string file =
      write_file(folder + "/points.csv", "x,y,z,name\n1,10,5,a\n2,20,4,b\n3,30,,c\n4,40,6,d\n");
  const std::string table =
      "\n"
      "column  and  rows  covariance  correlation\n"
      "------  ---  ----  ----------  -----------\n"
      "x       y       4        12.5            1\n"
      "x       z       3    0.666667     0.654654\n"
      "y       z       3     6.66667     0.654654\n";
  const std::string shown = call_verb(add_data, {"stats", file, "--cross", "all"});
  EXPECT_NE(shown.find(table), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with(cat("next: espalier data stats ", file, " --cross all --out stats.pb\n")))
      << shown;
  const auto json = nlohmann::json::parse(call_verb(add_data, {"stats", file, "--cross", "y,x", "--json"}));
  EXPECT_EQ(json.at("stats").at("datasets").at(0).at("cross_features").size(), 1u);
  EXPECT_EQ(call_verb(add_data, {"stats", file}).find("covariance"), std::string::npos);
  EXPECT_THROW(call_verb(add_data, {"stats", file, "--cross", "none"}), ValueError);
  std::string warned;
  call_verb(add_data, {"stats", file, "--cross", "x,name"}, "", &warned);
  EXPECT_TRUE(warned.ends_with(
      "\nwarning: --cross is of columns of numbers, and \"name\" is one of texts: it is left out\n"))
      << warned;
  // Of many pairs the strongest.
  std::string names, values, more;
  for (int c = 0; c < 8; ++c) {
    names += cat(c ? "," : "", "c", c);
    values += cat(c ? "," : "", c);
    more += cat(c ? "," : "", c * c);
  }
  const std::string wide = write_file(folder + "/wide.csv", cat(names, "\n", values, "\n", more, "\n"));
  const std::string few = call_verb(add_data, {"stats", wide, "--cross", "all"});
  EXPECT_NE(few.find("the 20 strongest of 28 pairs\n"), std::string::npos) << few;
  // By size, whatever the sign.
  const std::string signs =
      write_file(folder + "/signs.csv", "a,b,c\n1,-10,3\n2,-20,1\n3,-30,2\n4,-40,7\n5,-50,1\n");
  const std::string falls = call_verb(add_data, {"stats", signs, "--cross", "all"});
  EXPECT_LT(falls.find("\na       b "), falls.find("\na       c ")) << falls;
  EXPECT_LT(falls.find("\na       b "), falls.find("\nb       c ")) << falls;
}

TEST(DataStatsOfTables, FindTimesWhereTheyAreAskedFor) {
  const std::string folder = fresh_folder("data-stats-times");
  std::string text = "day,at\n";
  for (int i = 0; i < 120; ++i) text += cat("2019-03-", 10 + i % 20, ",", 1551400000 + i, "\n");
  const std::string file = write_file(folder + "/days.csv", text), schema = folder + "/schema.pbtxt";
  const std::string shown = call_verb(add_data, {"schema", file, "--semantic-domains", "--show"});
  EXPECT_NE(shown.find("time %Y-%m-%d"), std::string::npos) << shown;
  EXPECT_NE(shown.find("time UNIX_SECONDS"), std::string::npos) << shown;
  EXPECT_EQ(call_verb(add_data, {"schema", file, "--show"}).find("time %"), std::string::npos);
  // What is no domain in the schema is an anomaly of statistics that name one, and its fix takes it.
  write_file(schema, "feature { name: 'day' type: BYTES } feature { name: 'at' type: INT }");
  EXPECT_NE(call_verb(add_data, {"validate", file, "--schema", schema}).find("No anomalies"),
            std::string::npos);
  std::string found;
  try {
    call_verb(add_data, {"validate", file, "--schema", schema, "--semantic-domains", "--json", "--out",
                         folder + "/found.json"});
  } catch (const Exit& exit) {
    EXPECT_EQ(exit.code, 1);
  }
  found = posix_env().read_file(folder + "/found.json");
  EXPECT_NE(found.find("SEMANTIC_DOMAIN_UPDATE"), std::string::npos) << found;
  const std::string fixed = folder + "/fixed.pbtxt";
  call_verb(add_data, {"validate", file, "--schema", schema, "--semantic-domains", "--apply-fix", fixed});
  call_verb(add_data, {"validate", file, "--schema", fixed, "--semantic-domains"});
}

TEST(DataStatsOfTables, SayWhatIsNoUtf8) {
  const std::string folder = fresh_folder("stats-latin1"),
                    file = write_file(folder + "/1.csv", "a,b\ncaf\xe9,x\n\xfc,y\n");
  std::string said;
  call_verb(add_data, {"stats", file}, "", &said);
  EXPECT_NE(said.find("warning: 2 texts are no UTF-8"), said.npos) << said;
  call_verb(add_data, {"stats", write_file(folder + "/2.csv", "a,b\ncaf\xc3\xa9,x\n")}, "", &said);
  EXPECT_EQ(said.find("UTF-8"), said.npos) << said;
}

TEST(DataStatsOfTables, TakesSeveralFilesForOneTable) {
  const std::string folder = fresh_folder("data-stats-files");
  const std::string one = write_file(folder + "/1.csv", "a,b\n1,x\n2,y\n"),
                    two = write_file(folder + "/2.csv", "a,b\n3,x\n");
  EXPECT_TRUE(call_verb(add_data, {"stats", one, two}).starts_with("3 rows, 2 features\n"));
  const std::string other = write_file(folder + "/3.csv", "a,c\n3,x\n");
  EXPECT_THROW(call_verb(add_data, {"stats", one, other}), ValueError);
}

TEST(DataStatsOfTables, RefusesWhatIsUsedWrongly) {
  const std::string folder = fresh_folder("data-stats-wrong"),
                    file = write_file(folder + "/people.csv", kDataStatsTable);
  const std::string pb = folder + "/x.pb";
  call_verb(add_data, {"stats", file, "--out", pb});
  EXPECT_THROW(call_verb(add_data, {"stats", pb, "--weight", "w"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", pb, pb}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", file, "--out", file}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", file, "--weight", "none"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", file, "--slice", "none"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", file, "--empty-cell", "x"}), CLI::ValidationError);
  EXPECT_THROW(call_verb(add_data, {"stats", "-"}, ""), FormatError);
  EXPECT_THROW(call_verb(add_data, {"stats", folder + "/none.csv"}), IoError);
}

}  // namespace
}  // namespace espalier::cli
