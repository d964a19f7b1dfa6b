#include "validate/text_diff.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// What `patch` makes of `before`.
std::string patched(const std::string& before, const std::vector<TextChange>& changes) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < before.size();) {
    const size_t end = before.find('\n', start);
    lines.push_back(before.substr(start, end - start));
    start = end + 1;
  }
  std::string out;
  size_t next = 0;
  for (const TextChange& change : changes) {
    for (; next + 1 < change.line; ++next) out += lines[next] + "\n";
    for (const std::string& line : change.removed) EXPECT_EQ(line, lines[next++]);
    for (const std::string& line : change.added) out += line + "\n";
  }
  for (; next < lines.size(); ++next) out += lines[next] + "\n";
  return out;
}

// The most lines that two texts of one letter a line have in common, in order.
size_t common_lines(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j)
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  }
  return best[a.size()][b.size()];
}

TEST(TextDiff, MakesOneTextOfTheOtherByAsFewLinesAsCanBe) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string a, b, before, after;
    for (std::string* text : {&a, &b}) {
      const size_t size = random() % 12;
      for (size_t i = 0; i < size; ++i) *text += static_cast<char>('a' + random() % 3);
    }
    for (const char c : a) before += std::string(1, c) + "\n";
    for (const char c : b) after += std::string(1, c) + "\n";
    const std::vector<TextChange> changes = text_changes(before, after);
    EXPECT_EQ(patched(before, changes), after) << before << "--\n" << after;
    size_t removed = 0;
    for (const TextChange& change : changes) removed += change.removed.size();
    EXPECT_EQ(removed, a.size() - common_lines(a, b)) << before << "--\n" << after;
  }
}

TEST(TextDiff, IsWrittenAsDiffWritesIt) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n", 1),
            "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n@@ -9,1 +9,2 @@\n 9\n+10\n");
  EXPECT_EQ(unified_diff("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(unified_diff("1\n2\n3\n", "2\n3\n4\n", 2), "@@ -1,3 +1,3 @@\n-1\n 2\n 3\n+4\n");
}

TEST(TextDiff, OfTextsThatHaveLittleInCommonEnds) {
  std::string before, after;
  for (int i = 0; i < 4000; ++i) {
    before += "b" + std::to_string(i) + "\n";
    after += "a" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(patched(before, text_changes(before, after)), after);
}

}  // namespace
}  // namespace espalier
