#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

std::string statistics_files_mistake_of(const std::string& text, StatisticsOptions options = small_blocks()) {
  try {
    list_of(text, options);
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "none";
}

TEST(Statistics, SayWhatIsWrongWithFiles) {
  std::string rows = "a,b\n";
  for (int i = 0; i < 3000; ++i) rows += cat(i, ",x\n");
  EXPECT_EQ(statistics_files_mistake_of(""), "csv.empty t1.txt: line 1: no rows, nothing but blanks");
  EXPECT_EQ(statistics_files_mistake_of("\n \n"), "csv.empty t1.txt: line 1: no rows, nothing but blanks");
  EXPECT_EQ(statistics_files_mistake_of(rows + "1,2,3\n" + rows),
            "csv.columns t1.txt: line 3002 ends after 3 cells, the first line has 2");
  EXPECT_EQ(statistics_files_mistake_of(rows + "7,\"x\n" + rows),
            "csv.quote t1.txt: line 3002, column 3: a quote that does not end");
  EXPECT_EQ(statistics_files_mistake_of(rows + std::string("7,\0\n", 4)),
            "csv.nul t1.txt: line 3002: a NUL byte, which no text has");
  EXPECT_TRUE(statistics_files_mistake_of(std::string("PK\x03\x04\0\0[Content_Types].xml", 25))
                  .starts_with("csv.spreadsheet t1.txt"));
  // Of two mistakes the first, on any number of threads.
  for (int round = 0; round < 20; ++round)
    EXPECT_TRUE(statistics_files_mistake_of(rows + "1\n" + rows + "7,\"x\n")
                    .starts_with("csv.columns t1.txt: line 3002"));
  TableFolder folder;
  EXPECT_THROW(statistics_of_tables({folder.file("a,b\n1,2\n"), folder.file("a,c\n1,2\n")}, with_header()),
               ValueError);
}

// Of each file to its end, a part after the other, and again from the beginning where it is read again.
TEST(Statistics, TellHowMuchOfAFileWasRead) {
  std::string rows = "a,b\n", late = rows;
  for (int i = 0; i < 3000; ++i) rows += cat(i, ",x\n"), late += cat(i < 2900 ? cat(i) : "word", ",x\n");
  TableFolder folder;
  const std::vector<TableFile> files{folder.file(rows), folder.file(late)};
  std::vector<std::pair<std::string, uint64_t>> said;
  StatisticsOptions options = small_blocks();
  statistics_of_tables(files, options,
                       [&](const TableFile& file, uint64_t bytes) { said.emplace_back(file.path, bytes); });
  std::vector<std::string> whole;
  constexpr uint64_t kHeader = 4;
  for (size_t i = 0; i < said.size(); ++i) {
    const auto& [path, bytes] = said[i];
    EXPECT_LT(bytes, (i && said[i - 1].first == path ? said[i - 1].second : 0) + options.block + 1) << i;
    if (bytes + kHeader >= (path == files[0].path ? rows : late).size()) whole.push_back(path);
  }
  EXPECT_EQ(whole, (std::vector{files[0].path, files[1].path, files[0].path, files[1].path}))
      << "twice, since column a is of texts after all";
}

TEST(Statistics, OfATableAreThoseOfItsFile) {
  std::string rows = "a,b,c,d\n";
  for (int i = 0; i < 2000; ++i)
    rows += cat(i, ",", i / 8., ",\"x, ", i % 7, "\",", i % 5 ? cat(i) : "", "\n");
  rows += "1,2,3,none\n";
  TableFolder folder;
  EXPECT_EQ(statistics_of_table(parse_csv(rows), with_header()).list().SerializeAsString(),
            statistics_of_tables({folder.file(rows)}, with_header()).list().SerializeAsString());
}

// Numbers with a comma for the point are those with a point; words keep their commas.
TEST(Statistics, KnowNumbersWithDecimalCommas) {
  std::string commas = "a;b;c\n", points = commas;
  for (int i = 0; i < 3000; ++i) {
    const std::string b = cat(i % 7, "%", i % 10), c = i % 3 ? cat("x, ", i) : cat("\"", b, "\"");
    for (const auto& [text, point] : {std::pair{&commas, ','}, std::pair{&points, '.'}}) {
      std::string line = cat(i, ";", b, ";", c, "\n");
      std::ranges::replace(line, '%', point);
      *text += line;
    }
  }
  StatisticsOptions options = small_blocks();
  options.csv.delimiter = ';';
  const auto found = data_of(commas, options);
  EXPECT_EQ(found.features(1).type(), tfmd::FeatureNameStatistics::FLOAT);
  EXPECT_EQ(found.SerializeAsString(), data_of(points, options).SerializeAsString());
  EXPECT_EQ(
      statistics_of_table(parse_csv(commas), options).list().datasets(0).features(1).SerializeAsString(),
      found.features(1).SerializeAsString());
  // Points between thousands, quoted or not, and whatever surrounds them.
  EXPECT_EQ(data_of("a;b\n1.234,5;\"1.000,25\"\n 2,5 ;\"12.000.000,5\"\n-1.000,0; \"3,5\" \n", options)
                .SerializeAsString(),
            data_of("a;b\n1234.5;1000.25\n2.5;12000000.5\n-1000.0;3.5\n", options).SerializeAsString());
  // Texts too, in a file that has no blank and no quote.
  EXPECT_EQ(data_of("a;b\n1.234,5;x\n2,5;1.000,25\n3,5;y\n", options).SerializeAsString(),
            data_of("a;b\n1234.5;x\n2.5;1000.25\n3.5;y\n", options).SerializeAsString());
  // Commas between cells are no points, as TensorFlow Data Validation has it.
  EXPECT_EQ(data_of("a,b\n1,\"2,5\"\n").features(1).type(), tfmd::FeatureNameStatistics::STRING);
  EXPECT_EQ(data_of("prediction\n664140\n\"161192,58\"\n").features(0).type(),
            tfmd::FeatureNameStatistics::FLOAT);
}

TEST(Statistics, OfUnusualFilesAreStillThoseOfTheirRows) {
  const auto none = data_of("a,b\n");
  EXPECT_EQ(none.num_examples(), 0u);
  EXPECT_EQ(none.features_size(), 0);
  EXPECT_EQ(data_of("a,a\n1,2\n").features(1).path().step(0), "a_2");
  // The last block is a line of blanks.
  StatisticsOptions tiny = with_header();
  for (size_t block = 16; block < 60; ++block) {
    tiny.block = block;
    EXPECT_EQ(data_of("name,age\nann,39\nbob,56\n\t\n", tiny).num_examples(), 2u);
    EXPECT_EQ(data_of("name,age\nann, 39\nbob, 56\n\t", tiny).num_examples(), 2u);
  }
  EXPECT_EQ(data_of("\xef\xbb\xbf"
                    "a,b\n1,2\n")
                .features(0)
                .path()
                .step(0),
            "a");
  EXPECT_EQ(data_of(std::string("\xff\xfe"
                                "a\0,\0b\0\n\0"
                                "1\0,\0"
                                "2\0\n\0",
                                18))
                .features(1)
                .num_stats()
                .max(),
            2);
  const auto all_missing = data_of("a,b\n1,\n2,\n").features(1);
  EXPECT_EQ(all_missing.type(), tfmd::FeatureNameStatistics::STRING);
  EXPECT_EQ(all_missing.string_stats().common_stats().num_missing(), 2u);
  EXPECT_EQ(all_missing.string_stats().unique(), 0u);
  // What is beyond f64 is an infinity of its sign.
  const auto beyond = data_of("a,b\n-1e400,1\n2,1e400\n");
  EXPECT_EQ(beyond.features(0).num_stats().min(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(beyond.features(0).num_stats().max(), 2);
  EXPECT_EQ(beyond.features(1).num_stats().max(), std::numeric_limits<double>::infinity());
  // What is beyond 2^53 is the nearest f64.
  EXPECT_EQ(data_of("a,b\n9007199254740993,1\n").features(0).num_stats().max(), 9007199254740992.0);
  const auto latin1 = data_of("a,b\ncaf\xe9,1\ncafe,2\ncaf\xe9,1\n").features(0).string_stats();
  EXPECT_EQ(latin1.invalid_utf8_count(), 2u);
  EXPECT_EQ(latin1.top_values(0).value(), "__BYTES_VALUE__");
  EXPECT_EQ(latin1.top_values(0).frequency(), 2);
}

TEST(Statistics, HaveTenThousandColumnsSlow) {
  std::string text;
  for (int row = 0; row < 3; ++row)
    for (int c = 0; c < 10000; ++c) text += cat(row ? "" : "c", row ? row : c, c < 9999 ? "," : "\n");
  const auto data = data_of(text);
  ASSERT_EQ(data.features_size(), 10000);
  EXPECT_EQ(data.features(9999).num_stats().mean(), 1.5);
}

}  // namespace
}  // namespace espalier
