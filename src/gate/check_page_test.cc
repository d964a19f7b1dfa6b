// Where a page says something else than it did, and the verdict at its head.
#include "gate/check_page.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "gate/figures_test.h"

namespace espalier {
namespace {

using Lines = std::vector<std::string>;

TEST(PageDifferences, AreOfWhatPeopleReadBeforeMarksAndSpaces) {
  const std::string page = "<p class=\"a\">one</p>\n<p>two</p>";
  EXPECT_EQ(page_differences(page, page, 9), Lines{});
  EXPECT_EQ(page_differences(page, "<p class=\"a\">one</p>\n<p>too</p>", 9),
            Lines{"the page says two\n  these rows give too"});
  EXPECT_EQ(page_differences(page, "<p class=\"b\">one</p>\n<p>two</p>", 9),
            Lines{"the page says <p class=\"a\"\n  these rows give <p class=\"b\""});
  // Marks are passed over where words differ.
  EXPECT_EQ(page_differences(page, "<p class=\"b\">one</p>\n<p>too</p>", 9),
            Lines{"the page says two\n  these rows give too"});
  EXPECT_EQ(page_differences(page, "<p class=\"a\">one</p>", 9),
            Lines{"the page says two\n  these rows give nothing"});
  EXPECT_EQ(page_differences("<p class=\"a\">one</p>", page, 9),
            Lines{"the page says nothing\n  these rows give two"});
  EXPECT_EQ(page_differences(page, "<p class=\"a\">one</p><p>two</p>", 9),
            Lines{"the page is spaced otherwise"});
  const std::string three = "<i>a</i><i>b</i><i>c</i>", others = "<i>x</i><i>y</i><i>z</i>";
  EXPECT_EQ(page_differences(three, others, 9).size(), 3u);
  EXPECT_EQ(page_differences(three, others, 2),
            (Lines{"the page says a\n  these rows give x", "the page says b\n  these rows give y"}));
}

// 24 letters before the place and 40 from it on.
TEST(PageDifferences, ShowWhatStandsAroundThem) {
  const auto text = [](int before, const char* here, int behind) {
    return cat("<p>", std::string(static_cast<size_t>(before), 'a'), here,
               std::string(static_cast<size_t>(behind), 'b'), "</p>");
  };
  const auto said = [](const std::string& before, const std::string& shown, const std::string& end) {
    return Lines{cat("the page says ", before, shown, end)};
  };
  const auto first = [&](int before, int behind) {
    const Lines all = page_differences(text(before, "1", behind), text(before, "2", behind), 1);
    return Lines{all.at(0).substr(0, all.at(0).find('\n'))};
  };
  EXPECT_EQ(first(24, 39), said("", std::string(24, 'a') + "1" + std::string(39, 'b'), ""));
  EXPECT_EQ(first(25, 40), said("...", std::string(24, 'a') + "1" + std::string(39, 'b'), "..."));
}

const char* const kPageGates = R"toml(
[[gates]]
name = "passes"
metric = "accuracy"
min = 0.5
[[gates]]
name = "waived"
metric = "recall"
max = 0.1
[[gates]]
name = "warns"
metric = "accuracy"
between = "g"
max = 0.1
severity = "warn"
[[gates]]
name = "open"
metric = "auc"
min = 0.5
[[gates]]
name = "blocks"
metric = "accuracy"
each = "g"
min = 0.65
[[waivers]]
gate = "waived"
name = "A. Person"
reason = "r"
expires = 2030-12-31
)toml";

TEST(CheckPage, HasTheVerdictAndTheGatesTheWorstFirstAndWhatIsNext) {
  const Assessment given = assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}});
  const Verdict verdict =
      judge(read_gates(kPageGates, "gates.toml"), given, nullptr, std::chrono::year(2030) / 6 / 15);
  std::vector<std::string> asked;
  const std::string page =
      check_page(verdict, given,
                 {.subject = "m.esp on rows.csv", .next = "espalier next", .closer = [&](const Gate& gate) {
                    asked.push_back(gate.name);
                    return cat("closer ", gate.name);
                  }});
  // Gates that hold, by a waiver or not, need no closer look.
  EXPECT_EQ(asked, (std::vector<std::string>{"warns", "open", "blocks"}));
  size_t at = 0;
  for (const char* text :
       {"Release check", "m.esp on rows.csv", "Blocked", "Accuracy for g=b is 0.40", "closer blocks",
        "closer open", "closer warns", "waived by A. Person until 2030-12-31: r"}) {
    const size_t found = page.find(text, at);
    EXPECT_NE(found, std::string::npos) << text;
    if (found != std::string::npos) at = found;
  }
  EXPECT_NE(page.find("espalier next"), std::string::npos);
  EXPECT_EQ(page.find("closer passes"), std::string::npos);
}

}  // namespace
}  // namespace espalier
