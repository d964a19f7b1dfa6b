#include "validate/equal_cells.h"

#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

struct Counted {
  bool all = false;
  std::vector<std::pair<std::string, uint32_t>> cells;  // in order
};

// Of the columns of a text without a header, one after the other by one object.
std::vector<Counted> counted_cells(const std::string& text, size_t columns) {
  CsvBlocks blocks(std::make_unique<TextSource>(text), {.delimiter = ',', .header = CsvHeader::kNo});
  CsvBlock block;
  EXPECT_TRUE(blocks.next(block));
  const CsvRows rows(std::move(block), blocks);
  const auto equal = std::make_unique<EqualCells>();
  std::vector<Counted> out;
  for (size_t c = 0; c < columns; ++c) {
    Counted& of = out.emplace_back();
    of.all = equal->count(rows, static_cast<int64_t>(c));
    for (size_t i = 0; of.all && i < equal->counts().size(); ++i) {
      const uint32_t begin = equal->places()[2 * i], end = equal->places()[2 * i + 1] - 1;
      of.cells.emplace_back(std::string(rows.origin() + begin, end - begin), equal->counts()[i]);
    }
  }
  return out;
}

TEST(EqualCells, AreCountedInTheOrderOfTheirFirstRows) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const size_t rows = 1 + random() % 400, columns = 1 + random() % 4;
    // Of all sizes about 8 and 16, some of which differ in one byte anywhere.
    std::vector<std::string> words;
    for (int i = 0; i < 20; ++i) {
      std::string word(random() % 60, 'a');
      if (!word.empty()) word[random() % word.size()] = static_cast<char>('a' + random() % 3);
      words.push_back(word);
    }
    std::vector<Column> table(columns);
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t c = 0; c < columns; ++c) {
        table[c].push_back(words[random() % words.size()] + (columns == 1 ? "x" : ""));
        text += (c ? "," : "") + table[c].back();
      }
      text += '\n';
    }
    const std::vector<Counted> all = counted_cells(text, columns);
    for (size_t c = 0; c < columns; ++c) {
      std::map<std::string, size_t> places;
      std::vector<std::pair<std::string, uint32_t>> expected;
      for (const std::string& cell : table[c]) {
        const auto [it, added] = places.emplace(cell, expected.size());
        if (added) expected.emplace_back(cell, 0);
        ++expected[it->second].second;
      }
      ASSERT_TRUE(all[c].all);
      ASSERT_EQ(all[c].cells, expected) << round;
    }
  }
}

TEST(EqualCells, ThoseThatHardlyRepeatAreNot) {
  std::string text;
  for (int row = 0; row < 5000; ++row)
    text += cat(row, ",", row / 2 % 1000, ",", row / 2 % 250, ",kind of thing ", row % 3, "\n");
  const std::vector<Counted> all = counted_cells(text, 4);
  EXPECT_FALSE(all[0].all);
  EXPECT_FALSE(all[1].all);
  EXPECT_EQ(all[2].cells.size(), 250u);
  EXPECT_EQ(all[3].cells.size(), 3u);
}

// Slices ask of single rows, so that no cells are joined.
TEST(EqualCells, MakeTheStatisticsOfTheirRows) {
  std::mt19937_64 random(6);
  const std::vector<std::vector<std::string>> kinds = {
      {"0", "-3", "12", "+7", "", "9007199254740993"},
      {"0", "1.5", "nan", "-inf", "inf", "", "\"2.5\"", " 4 ", "1e400"},
      {"yes", "no", "", "\"a, b\"", "NA", "a text that is longer than sixteen bytes", "\xff\xfe"},
      {"", "NA"},
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<Column> columns(kinds.size() + 1);
    for (int row = 0; row < 700; ++row) {
      for (size_t c = 0; c < kinds.size(); ++c) columns[c].push_back(kinds[c][random() % kinds[c].size()]);
      columns.back().emplace_back("x");
    }
    StatisticsOptions options = small_blocks();
    options.empty = {.missing = {"NA"}, .present = round % 2 == 1};
    const std::string text = csv_of(columns);
    const auto joined = data_of(text, options);
    options.slice = cat("c", kinds.size());
    const auto by_rows = data_of(text, options);
    ASSERT_EQ(joined.features_size(), by_rows.features_size());
    for (int i = 0; i < joined.features_size(); ++i)
      EXPECT_EQ(joined.features(i).SerializeAsString(), by_rows.features(i).SerializeAsString())
          << joined.features(i).DebugString() << by_rows.features(i).DebugString();
  }
}

}  // namespace
}  // namespace espalier
