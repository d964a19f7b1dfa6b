#include "fairness/assessment_page.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "espalier/error.h"
#include "evaluate/monk.h"
#include "fairness/assessed_people_test.h"
#include "report/framed_page_test.h"
#include "report/page.h"
#include "report/table.h"

namespace espalier {
namespace {

AssessmentPageOptions judged() {
  AssessmentPageOptions out{.title = "Income model", .subject = "scores.csv", .threshold = 1};
  out.criteria[0].limit = 0.1;
  out.criteria[1].limit = 0.2;
  out.verdict = {
      .standing = Standing::kBlocked,
      .word = "Blocked",
      .sentence =
          "Blocked: true positive rate for sex=Female is 0.53 against 0.61 (gap 0.09, 95 % interval "
          "0.04 to 0.13, limit 0.05; 590 positives).",
      .items =
          {{.standing = Standing::kBlocked,
            .what = "true positive rate, sex=Female",
            .number = "0.53 against 0.61, gap 0.09 (0.04 to 0.13)",
            .limit = "0.05",
            .next = "espalier evaluate --scores scores.csv --slice sex --threshold 0.4",
            .link = "slices"},
           {.standing = Standing::kBlocked,
            .what = "demographic parity, age",
            .number = "gap 0.31 (0.28 to 0.34)",
            .limit = "0.1",
            .next = "espalier evaluate --scores scores.csv --bucket age=18,25,45,65",
            .link = "fairness"},
           {.standing = Standing::kUndecided,
            .what = "accuracy, race=Other",
            .number = "0.81 (0.72 to 0.88) of 84 rows",
            .limit = "at least 0.8",
            .next = "label 300 more rows of race=Other",
            .link = "slices"},
           {.standing = Standing::kPass, .what = "auc, all rows", .number = "0.86", .limit = "at least 0.8"},
           {.standing = Standing::kPass, .what = "accuracy, country=Holand", .number = "1", .limit = "0.5"}},
      .next = "espalier evaluate --scores scores.csv --label y --score p --slice sex"};
  return out;
}

// A weak page of a slicing with a value for every few rows.
Assessment of_many_slices(size_t slices, bool weighted) {
  const ScoredPeople people(slices * 12, weighted);
  CategoryColumn street{"street", {}, {}};
  for (size_t i = 0; i < slices; ++i) street.values.push_back(cat("street number ", i));
  for (size_t i = 0; i < slices * 12; ++i) street.codes.push_back(static_cast<uint32_t>(i % slices));
  return assess(people.rows(), {{&street}, {&people.sex}, {&street, &people.sex}}, {.histograms = true});
}

TEST(AssessmentPage, TheSameAssessmentGivesTheSameBytes) {
  EXPECT_EQ(assessment_page(ScoredPeople().assessed(), judged()),
            assessment_page(ScoredPeople().assessed(), judged()));
}

TEST(AssessmentPage, NamesNoRareValue) {
  const ScoredPeople people;
  AssessmentPageOptions options = judged();
  const std::string page = assessment_page(people.assessed(), options);
  EXPECT_EQ(std::ranges::count(people.country.codes, 5u), 6);
  for (const char* rare : {"Holand", "Laos"}) EXPECT_EQ(page.find(rare), page.npos) << rare;
  EXPECT_NE(page.find("accuracy, (rare)"), page.npos) << "nor does the verdict";
  options.k = 4;
  EXPECT_NE(assessment_page(people.assessed(), options).find("Holand"), page.npos)
      << "six people are not rare for 4";
}

TEST(AssessmentPage, SaysHowManySlicesAreFoldedAndWhy) {
  const ScoredPeople people;
  const std::string page = assessment_page(people.assessed(), judged());
  EXPECT_NE(page.find("folded: 2 slices, those of fewer than 10 rows and larger ones that would give them "
                      "away by subtraction"),
            page.npos);
  EXPECT_EQ(page.find("Nothing is left to show"), page.npos);
  // Seven of few rows, and one of many.
  CategoryColumn one{"one", {"few", "many"}, {}};
  for (size_t i = 0; i < people.scores.size(); ++i) one.codes.push_back(i >= 7);
  AssessmentPageOptions options = judged();
  options.threshold = 0;
  EXPECT_NE(assessment_page(assess(people.rows(), {{&one}, {&people.sex}}, {}), options)
                .find("Nothing is left to show of slices by one."),
            page.npos);
}

// Other slices are sorted by what is furthest, and thin ones come last.
TEST(AssessmentPage, TonesOfSkinHaveSwatchesAndStayInOrder) {
  const ScoredPeople people;
  std::vector<uint8_t> tones;
  for (size_t i = 0; i < people.scores.size(); ++i)
    tones.push_back(static_cast<uint8_t>(i % 200 == 0 ? 2 : 1 + i % 3 * 3));
  const CategoryColumn ten = monk_tones("skin", tones, MonkGroups::kTen),
                       three = monk_tones("skin group", tones, MonkGroups::kThree);
  const std::string page =
      assessment_page(assess(people.rows(), {{&ten}, {&three}}, {.slices = {.min_rows = 200}}));
  size_t last = page.find("id=\"slices-1\"");
  for (const size_t tone : {1, 2, 4, 7}) {
    const size_t at = page.find(cat(">", tone, "<svg class=\"swatches\""), last);
    ASSERT_NE(at, page.npos) << tone;
    EXPECT_LT(page.find(cat("fill=\"", kMonkTones[tone - 1], "\""), at), at + 300);
    last = at;
  }
  EXPECT_NE(page.find("thin: fewer than 200 rows"), page.npos) << "the second tone is grey, in its place";
  EXPECT_NE(page.find("aria-label=\"colours #eadaba #d7bd96 #a07e56\""), page.npos);
  EXPECT_NE(page.find("Tones stay in their own order."), page.npos);
  EXPECT_EQ(assessment_page(people.assessed(), judged()).find("swatches\""), page.npos);
}

TEST(AssessmentPage, EscapesWhatValuesSay) {
  ScoredPeople people;
  people.sex.values[0] = "</script><img src=x onerror=alert(1)>\"'&";
  const std::string page = assessment_page(people.assessed(), {.title = "<b>", .threshold = 1});
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(page.find("<b>"), page.find("<b>No")) << "only the kit's own";
  EXPECT_NE(page.find("&lt;/script&gt;&lt;img src=x"), page.npos);
}

TEST(AssessmentPage, ManySlicesStayWithinTwoMegabytes) {
  for (const bool weighted : {false, true}) {
    const std::string page = assessment_page(of_many_slices(800, weighted));
    EXPECT_LE(page.size(), kMostPageBytes);
    EXPECT_GT(page.size(), kMostPageBytes / 4) << "and do not leave it empty";
    EXPECT_NE(page.find("more slices"), page.npos);
  }
}

TEST(AssessmentPage, ShowsFiguresWithFormulaCountAndInterval) {
  const ScoredPeople people;
  const Assessment assessment = people.assessed();
  const std::string page = assessment_page(assessment, judged());
  const SliceMetric recall("recall");
  for (const SliceFigures& slice : assessment.by[0].slices) {
    const Figure its = recall(slice, 1);
    EXPECT_NE(page.find(cat("TP / (TP + FN) = ", fixed(*its.value, 6), ", of ", grouped(its.rows),
                            " rows, 95 % interval ", fixed(its.interval->low, 3), " to ",
                            fixed(its.interval->high, 3))),
              page.npos)
        << slice.slice.name;
  }
}

TEST(AssessmentPage, GapsStandBesideWhatChanceGives) {
  const ScoredPeople people;
  const std::string page =
      assessment_page(assess(people.rows(), {{&people.sex}}, {}), {.criteria = {{"demographic_parity"}}});
  const size_t table = page.find("<table id=\"gaps\"");
  ASSERT_NE(table, page.npos);
  const std::string gaps = page.substr(table, page.find("</table>", table) - table);
  for (const char* part : {"p is adjusted by Holm for 1 gaps", ">by chance<", ">p<", ">0.001<"})
    EXPECT_NE(gaps.find(part), gaps.npos) << part << gaps;
}

TEST(AssessmentPage, WithoutAGateTheLargestGapComesFirst) {
  const std::string page = assessment_page(ScoredPeople().assessed(), {.threshold = 1});
  const size_t verdict = page.find("id=\"verdict\""),
               first = page.find("No gate was asked. The largest gap is");
  EXPECT_LT(verdict, first);
  EXPECT_LT(first, page.find("id=\"slices\""));
}

TEST(AssessmentPage, UnknownThresholdsAndMetricsAreRefused) {
  const Assessment assessment = ScoredPeople(300).assessed();
  EXPECT_THROW(assessment_page(assessment, {.threshold = 2}), ValueError);
  EXPECT_THROW(assessment_page(assessment, {.metrics = {"acuracy"}}), ValueError);
  EXPECT_THROW(assessment_page(assessment, {.criteria = {{"parity"}}}), ValueError);
}

TEST(AssessmentPage, HasNoThresholdsToMoveWithoutHistograms) {
  const Assessment assessment = ScoredPeople(300).assessed({});
  EXPECT_EQ(assessment_page(assessment).find("type=\"range\""), std::string::npos);
}

struct SlowAssessmentPage : FramedPage {
  static std::string page() { return assessment_page(ScoredPeople().assessed(), judged()); }
};

// The check of checks: what would be wrong is seen.
TEST_F(SlowAssessmentPage, TheBrowserTellsOfErrorsAndRequests) {
  const Frames planted = framed("<!doctype html><title>x</title><img src=\"http://127.0.0.1:9/x.png\">",
                                "setTimeout(() => missing(), 0); return 1");
  EXPECT_EQ(planted.probed[0], 1);
  EXPECT_NE(planted.opened.messages.find("missing is not defined"), std::string::npos)
      << planted.opened.messages;
  EXPECT_NE(planted.opened.requests.find("127.0.0.1:9/x.png"), std::string::npos) << planted.opened.requests;
}

TEST_F(SlowAssessmentPage, OpensFromDiskWithoutErrorsOrRequests) {
  const std::string folder = own_folder();
  std::ofstream(folder + "/page.html") << page();
  const Opened alone = open_in_chromium(folder, "page.html");
  EXPECT_NE(alone.dom.find("Income model"), std::string::npos);
  EXPECT_EQ(alone.messages, "");
  EXPECT_EQ(alone.requests, "");
}

TEST_F(SlowAssessmentPage, FetchesNothingEvenWhenTold) {
  const Frames told = framed(page(),
                             "const image = new Image(); image.src = 'http://127.0.0.1:9/x.png';"
                             "return await fetch('http://127.0.0.1:9/y').catch(() => 'refused')");
  EXPECT_EQ(told.probed[0], "refused");
  EXPECT_EQ(told.opened.requests, "");
}

TEST_F(SlowAssessmentPage, TheFirstScreenHasTheVerdictAndTheWorstItems) {
  expect_first_screen(framed(page(), kFirstScreen, {{1280, 720}, {390, 844}}));
}

TEST_F(SlowAssessmentPage, IsReadByAllKindsOfReaders) { expect_readable(page(), 500); }

// What the browser computes from histograms is what the rows say at that threshold.
TEST_F(SlowAssessmentPage, SlidersGiveTheRatesOfTheirThresholds) {
  for (const bool weighted : {false, true}) {
    for (const Positive positive : {Positive::kFrom, Positive::kAbove}) {
      const ScoredPeople people(2000, weighted);
      AssessmentOptions options{
          .thresholds = {0, 0.137, 0.5, 0.731, 1}, .positive = positive, .histograms = true};
      const Assessment assessed = people.assessed(options);
      const Frames frames = framed(assessment_page(assessed), R"(
          const panel = document.querySelector('.thresholds'), every = panel.querySelector('.all input'), out = {};
          const cells = row => [...row.cells].slice(2).map(cell => ({value: cell.dataset.v, title: cell.title}));
          for (const t of [0, 137, 500, 731, 1000]) {
            every.value = t;
            every.dispatchEvent(new Event('input'));
            out[t] = {};
            for (const row of panel.querySelectorAll('tbody tr')) out[t][row.cells[0].dataset.v] = cells(row);
            out[t].gaps = cells(panel.querySelector('.gaps'));
            out[t].together = cells(panel.querySelector('.together'));
          }
          return out)");
      const char* names[] = {"selection_rate", "true_positive_rate", "false_positive_rate",
                             "positive_predictive_value", "accuracy"};
      for (size_t t = 0; t < options.thresholds.size(); ++t) {
        const nlohmann::json& said = frames.probed[0][cat(std::lround(1000 * options.thresholds[t]))];
        const auto expect = [&](const nlohmann::json& cell, const Figure& its, const std::string& what) {
          ASSERT_EQ(cell["value"] != "", its.value.has_value()) << what << cell;
          if (!its.value) return;
          EXPECT_NEAR(std::stod(cell["value"].get<std::string>()), *its.value, 1e-9) << what;
          const std::string title = cell["title"];
          EXPECT_NE(title.find(cat("of ", its.rows, " rows")), title.npos) << title << " " << its.rows;
          EXPECT_NE(title.find(cat(fixed(its.interval->low, 3), " to ", fixed(its.interval->high, 3))),
                    title.npos)
              << title << " " << its.interval->low;
        };
        for (size_t r = 0; r < 5; ++r) {
          const SliceMetric metric(names[r]);
          for (const SliceFigures& slice : assessed.by[0].slices) {
            const std::string what = cat(names[r], " of ", slice.slice.name, " at ", options.thresholds[t]);
            expect(said[slice.slice.values[0]][r], metric(slice, t), what);
          }
          expect(said["together"][r], metric(assessed.overall, t), "together");
          const Figure gap = metric.difference(assessed.by[0].slices[0], assessed.by[0].slices[1], t);
          if (gap.value) {
            EXPECT_NEAR(std::stod(said["gaps"][r]["value"].get<std::string>()), std::abs(*gap.value), 1e-9);
          }
        }
      }
    }
  }
}

TEST_F(SlowAssessmentPage, TablesSortAndAreSavedAsCsv) {
  ScoredPeople people;
  people.race.values[1] = "=\"Black\",or";
  const Assessment assessed = people.assessed();
  const Frames frames = framed(assessment_page(assessed), R"(
      const table = document.getElementById('heat-2'), heads = table.querySelectorAll('thead th');
      const column = i => [...table.tBodies[0].rows].map(row => row.cells[i].dataset.v);
      const click = i => { heads[i].querySelector('button').click(); return heads[i].getAttribute('aria-sort'); };
      const out = {up: click(1), ascending: column(1), down: click(1), descending: column(1), other: click(2),
                   left: heads[1].getAttribute('aria-sort')};
      const saved = [];
      URL.createObjectURL = blob => { saved.push(blob); return '#'; };
      HTMLAnchorElement.prototype.click = function () { out.name = this.download; };
      document.querySelector('[data-table=heat-2]').click();
      out.csv = await saved[0].text();
      return out)");
  const nlohmann::json& out = frames.probed[0];
  std::vector<int64_t> rows{static_cast<int64_t>(people.scores.size())};
  for (const SliceFigures& slice : assessed.by[1].slices) rows.push_back(slice.slice.rows);
  std::ranges::sort(rows);
  nlohmann::json sorted = nlohmann::json::array();
  for (const int64_t each : rows) sorted.push_back(cat(each));
  EXPECT_EQ(out["ascending"], sorted);
  std::ranges::reverse(sorted);
  EXPECT_EQ(out["descending"], sorted);
  EXPECT_EQ(out["up"], "ascending");
  EXPECT_EQ(out["down"], "descending");
  EXPECT_EQ(out["other"], "ascending");
  EXPECT_EQ(out["left"], nullptr);
  EXPECT_EQ(out["name"], "heat-2.csv");
  const std::string csv = out["csv"];
  EXPECT_TRUE(csv.starts_with("race,rows,positives,selection rate,")) << csv;
  EXPECT_NE(csv.find("\n\"'=\"\"Black\"\",or\","), csv.npos) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7) << csv;
}

}  // namespace
}  // namespace espalier
