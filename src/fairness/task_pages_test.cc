// Pages of predicted numbers and of several classes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "evaluate/classes.h"
#include "evaluate/regression.h"
#include "fairness/assessment_page.h"
#include "fairness/page_sections.h"
#include "report/framed_page_test.h"
#include "report/table.h"

namespace espalier {
namespace {

// Prices, off by more where the house is old; of one district there are six.
struct PricedHouses {
  std::vector<double> predictions, truths;
  CategoryColumn age{"age", {"new", "old"}, {}}, district{"district", {"North", "South", "Ysol"}, {}};

  explicit PricedHouses(int rows = 3000) {
    Philox random(7);
    const auto draw = [&] { return static_cast<double>(random.uniform()); };
    for (int i = 0; i < rows; ++i) {
      const bool old = i % 3 == 0;
      age.codes.push_back(old);
      district.codes.push_back(i % 500 == 3 ? 2 : i % 2);
      truths.push_back(100000 + 400000 * draw());
      predictions.push_back(truths.back() + (old ? 60000 : 20000) * (draw() - 0.4));
    }
  }
  Assessment assessed() const {
    return assess_any(NumberRows(predictions, truths), {{&age}, {&district}},
                      {.slices = {.min_rows = 30}, .histograms = true});
  }
};

// Kinds of flowers that are told apart more or less; six are of the kind "Wolfia".
struct ToldFlowers {
  std::vector<std::string> classes{"Rosa", "Iris", "Wolfia", "Viola"};
  std::vector<uint32_t> is, said;
  CategoryColumn place{"place", {"wood", "meadow"}, {}};

  explicit ToldFlowers(uint32_t rare = 2) {
    Philox random(9);
    for (uint32_t i = 0; i < 1800; ++i) {
      is.push_back(i % 300 == 5 ? rare : i % 2 ? 3 : i % 5 ? 0 : 1);
      said.push_back(random.below(100) < 80 ? is.back() : static_cast<uint32_t>(random.below(4)));
      place.codes.push_back(i % 3 == 0);
    }
  }
  int64_t count(uint32_t true_class, uint32_t said_class) const {
    int64_t out = 0;
    for (size_t i = 0; i < is.size(); ++i) out += is[i] == true_class && said[i] == said_class;
    return out;
  }
  Assessment assessed() const {
    return assess_any(ClassRows(classes, is, said), {{&place}}, {.slices = {.min_rows = 30}});
  }
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(TaskPages, NumbersShowTheErrorsOfEachSlice) {
  const PricedHouses houses;
  const std::string page = assessment_page(houses.assessed());
  for (const uint32_t age : {0u, 1u}) {
    std::vector<double> sizes, errors, squares;
    for (size_t i = 0; i < houses.truths.size(); ++i) {
      if (houses.age.codes[i] != age) continue;
      const double error = houses.predictions[i] - houses.truths[i];
      errors.push_back(error), sizes.push_back(std::abs(error)), squares.push_back(error * error);
    }
    for (const auto& [formula, value] :
         {std::pair("sum(w |p - y|) / sum(w)", mean(sizes)),
          std::pair("sum(w (p - y)) / sum(w)", mean(errors)),
          std::pair("sqrt(sum(w (p - y)^2) / sum(w))", std::sqrt(mean(squares)))}) {
      EXPECT_NE(page.find(cat(formula, " = ", significant(value, 6), ", of ", grouped(std::ssize(sizes)),
                              " rows, 95 % interval ")),
                page.npos)
          << formula << " of " << houses.age.values[age] << ": " << significant(value, 6);
    }
  }
  EXPECT_NE(page.find("No gate was asked. The largest gap is mae by age: gap "), page.npos)
      << "1.2 of the mean absolute error; mean errors differ by half of it";
  EXPECT_EQ(page.find("Ysol"), page.npos) << "six houses are rare";
  EXPECT_EQ(page.find("type=\"range\""), page.npos) << "there is no threshold to move";
  EXPECT_EQ(page, assessment_page(houses.assessed()));
}

TEST(TaskPages, TenthsAreThoseOfTheSortedPredictions) {
  const PricedHouses houses;
  const std::string page = assessment_page(houses.assessed());
  std::vector<size_t> order(houses.truths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return houses.predictions[i]; });
  for (size_t tenth = 0; tenth < 10; ++tenth) {
    std::vector<double> said, is;
    for (size_t i = 300 * tenth; i < 300 * (tenth + 1); ++i)
      said.push_back(houses.predictions[order[i]]), is.push_back(houses.truths[order[i]]);
    EXPECT_NE(page.find(cat("300 rows, predicted ", significant(mean(said), 3), ", true ",
                            significant(mean(is), 3))),
              page.npos)
        << tenth;
  }
  EXPECT_EQ(assessment_page(PricedHouses(80).assessed()).find("id=\"tenths\""), page.npos)
      << "a tenth of 80 rows is rare";
}

TEST(TaskPages, ClassesHaveTheirConfusionsCounted) {
  const ToldFlowers flowers;
  const std::string page = assessment_page(flowers.assessed(), {.k = 1});
  for (uint32_t is = 0; is < 4; ++is) {
    int64_t of_class = 0;
    for (uint32_t said = 0; said < 4; ++said) of_class += flowers.count(is, said);
    for (uint32_t said = 0; said < 4; ++said) {
      const int64_t count = flowers.count(is, said);
      const double share = static_cast<double>(count) / static_cast<double>(of_class);
      const std::string title = cat(percent(share), " of the ", of_class, " rows of ", flowers.classes[is],
                                    " are said to be ", flowers.classes[said], "\">", count, "</td>");
      EXPECT_NE(page.find(title), page.npos) << title;
    }
    const double recall = static_cast<double>(flowers.count(is, is)) / static_cast<double>(of_class);
    EXPECT_NE(page.find(cat("rows said to be of the class / rows of it = ", significant(recall, 6), ", of ",
                            of_class, " rows, 95 % interval ")),
              page.npos)
        << flowers.classes[is];
  }
  EXPECT_NE(page.find("accuracy = rows said rightly / rows"), page.npos) << "and not that of two classes";
}

TEST(TaskPages, RareClassesAreOneAndTheVerdictNamesNone) {
  AssessmentPageOptions options;
  options.verdict = {.standing = Standing::kBlocked,
                     .word = "Blocked",
                     .sentence = "The recall[Wolfia] is 0.5, and f1[Viola] 0.9."};
  const ToldFlowers flowers;
  const std::string page = assessment_page(flowers.assessed(), options);
  EXPECT_EQ(page.find("Wolfia"), page.npos);
  EXPECT_EQ(page.find("Iris"), page.npos) << "the next smallest, so that no subtraction brings it back";
  EXPECT_NE(page.find("The (rare) is 0.5, and f1[Viola] 0.9."), page.npos);
  int64_t right = 0;
  for (const uint32_t is : {1u, 2u}) {
    for (const uint32_t said : {1u, 2u}) right += flowers.count(is, said);
  }
  EXPECT_NE(page.find(cat("rows of (rare) are said to be (rare)\">", right, "</td>")), page.npos) << right;
  EXPECT_NE(page.find("2 classes here"), page.npos);
}

TEST(TaskPages, ManyClassesStayWithinTwoMegabytes) {
  ToldFlowers flowers;
  flowers.classes.clear();
  for (uint32_t c = 0; c < 400; ++c) flowers.classes.push_back(cat("kind number ", c));
  CategoryColumn street{"street", {}, {}};
  for (uint32_t i = 0; i < 50; ++i) street.values.push_back(cat("street ", i));
  flowers.is.clear(), flowers.said.clear();
  for (uint32_t i = 0; i < 8000; ++i) {
    flowers.is.push_back(i % 400), flowers.said.push_back((i + i / 400 % 3) % 400);
    street.codes.push_back(i % 50);
  }
  const Assessment assessed =
      assess_any(ClassRows(flowers.classes, flowers.is, flowers.said), {{&street}}, {});
  const std::string page = assessment_page(assessed);
  EXPECT_LE(page.size(), kMostPageBytes);
  EXPECT_NE(page.find("Of 400 classes no matrix is drawn"), page.npos);
}

struct SlowTaskPages : FramedPage {};

TEST_F(SlowTaskPages, OpenWithoutErrorsOrRequestsAndAreReadByAll) {
  for (const std::string& page :
       {assessment_page(PricedHouses().assessed()), assessment_page(ToldFlowers().assessed())}) {
    const Frames frames =
        framed(page, "return document.documentElement.scrollWidth / innerWidth", {{1280, 720}, {390, 844}});
    for (const nlohmann::json& wide : frames.probed) EXPECT_LE(wide, 1);
    EXPECT_EQ(frames.opened.messages, "");
    EXPECT_EQ(frames.opened.requests, "");
    expect_readable(page, 100);
  }
}

TEST(Tenths, EqualNumbersLieTogetherByTheirMiddleRank) {
  const std::vector<double> numbers = {5, 1, 5, 5, 5, 5, 5, 9, 2, 5};
  const CategoryColumn parts = tenths("p", numbers);
  EXPECT_EQ(parts.values[0], "1 of 10");
  EXPECT_EQ(parts.codes, (std::vector<uint32_t>{5, 0, 5, 5, 5, 5, 5, 9, 1, 5}));
}

TEST(Significant, DigitsBehindThePointGiveWayToThoseBeforeIt) {
  for (const auto& [value, text] :
       {std::pair(0.12345, "0.123"), std::pair(9.9994, "9.999"), std::pair(-12.345, "-12.35"),
        std::pair(1234.56, "1235"), std::pair(123456.0, "123456")})
    EXPECT_EQ(significant(value, 3), text);
}

}  // namespace
}  // namespace espalier
