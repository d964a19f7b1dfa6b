#include "gate/verdict.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "evaluate/random_rows_test.h"
#include "gate/figures_test.h"

namespace espalier {
namespace {

constexpr std::chrono::year_month_day kToday = std::chrono::year(2030) / 6 / 15;

Verdict judged(const std::string& gates, const Assessment& assessment, const Assessment* baseline = nullptr) {
  return judge(read_gates(gates, "gates.toml"), assessment, baseline, kToday);
}
// Of the one gate whose keys these are.
GateResult result(const std::string& keys, const Assessment& assessment,
                  const Assessment* baseline = nullptr) {
  return judged("[[gates]]\n" + keys, assessment, baseline).results.at(0);
}

// 310 of 590 and 1996 of 3256 positives are found.
Assessment of_sexes() {
  return assessment_of("sex", {{"Female", 310, 200, 4000, 280}, {"Male", 1996, 700, 6000, 1260}});
}

TEST(Verdict, TheFirstSentenceNamesMetricSliceNumbersGapIntervalLimitAndPositives) {
  const Verdict verdict =
      judged("[[gates]]\ncriterion = \"equal_opportunity\"\nbetween = \"sex\"\nmax = 0.05", of_sexes());
  EXPECT_EQ(verdict.ruling, Ruling::kBlocked);
  EXPECT_EQ(
      verdict.sentence,
      "Blocked: true positive rate for sex=Female is 0.53 against 0.61 (gap 0.09, 95 % interval 0.04 to "
      "0.13, limit 0.05; 590 positives).");
}

TEST(Verdict, SlicesAreHeldAgainstOneOfThem) {
  const Assessment now =
      assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}, {"c", 30, 0, 0, 0}});
  const GateResult each = result("metric = \"accuracy\"\neach = \"g\"\nagainst = \"g=a\"\nmin = -0.5", now);
  EXPECT_EQ(each.ruling, Ruling::kPass);
  ASSERT_EQ(each.findings.size(), 2u);  // not that of g=a
  EXPECT_NEAR(*each.findings[0].judged, -0.4, 1e-12);
  EXPECT_NEAR(*each.findings[1].judged, 0.2, 1e-12);
  EXPECT_EQ(each.findings[0].other, "g=a");
  const auto reason = [&](const std::string& keys) {
    const GateResult found =
        result("metric = \"false_positive_rate\"\nslice = \"g=a\"\nmin = -0.5\n" + keys, now);
    EXPECT_EQ(found.ruling, Ruling::kUndecided) << keys;
    return found.findings[0].reason;
  };
  EXPECT_EQ(reason("against = \"g=x\""), "of g=x there is no such slice");
  EXPECT_EQ(reason("against = \"h=x\""), "of h=x there is no such slice");
  EXPECT_EQ(reason("against = \"g=c\""), "of g=c it counts no negatives");
}

TEST(Verdict, RatiosAreProvenOrNot) {
  const Assessment now = assessment_of("g", {{"a", 20, 30, 20, 30}, {"b", 30, 0, 0, 0}});
  const auto ruling = [&](const std::string& keys) {
    return result("metric = \"accuracy\"\nbetween = \"g\"\nmeasure = \"ratio\"\n" + keys, now).ruling;
  };
  // 0.40 of 1.00, from 0.31 to 0.51.
  EXPECT_EQ(ruling("min = 0.3\ndecide = \"proven-over\""), Ruling::kPass);
  EXPECT_EQ(ruling("min = 0.35\ndecide = \"proven-over\""), Ruling::kUndecided);
  EXPECT_EQ(ruling("min = 0.45\ndecide = \"proven-over\""), Ruling::kUndecided);
  EXPECT_EQ(ruling("min = 0.55\ndecide = \"proven-over\""), Ruling::kBlocked);
  EXPECT_EQ(ruling("min = 0.45\ndecide = \"proven-under\""), Ruling::kPass) << "it may be 0.51";
  EXPECT_EQ(ruling("min = 0.45"), Ruling::kBlocked);
}

TEST(Verdict, ChangesAreProvenOrNot) {
  const Assessment now = assessment_of("g", {{"b", 20, 30, 20, 30}, {"c", 30, 0, 0, 0}});
  const Assessment before = assessment_of("g", {{"b", 30, 20, 30, 20}});
  const auto ruling = [&](const std::string& keys) {
    return result("metric = \"accuracy\"\nslice = \"g=b\"\n" + keys, now, &before).ruling;
  };
  // From 0.60 to 0.40, -0.33 to -0.06; relative -0.50 to -0.12.
  for (const auto& [change, sure, open, over] : {std::tuple{"absolute", "-0.35", "-0.25", "-0.05"},
                                                 std::tuple{"relative", "-0.55", "-0.25", "-0.10"}}) {
    const std::string keys = cat("change = \"", change, "\"\ndecide = \"proven-over\"\nmin = ");
    EXPECT_EQ(ruling(keys + sure), Ruling::kPass) << change;
    EXPECT_EQ(ruling(keys + open), Ruling::kUndecided) << change;
    EXPECT_EQ(ruling(keys + over), Ruling::kBlocked) << change;
  }
}

// Of a figure below 0, by its size: from -0.30 to -0.40 it falls by a third.
TEST(Verdict, AChangeRelativeToAFigureBelowZeroHasTheSignOfTheChange) {
  const Assessment now = assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}});
  const Assessment before = assessment_of("g", {{"a", 45, 5, 45, 5}, {"b", 30, 20, 30, 20}});
  const std::string keys =
      "metric = \"accuracy\"\nslice = \"g=b\"\nagainst = \"g=a\"\nchange = \"relative\"\nmin = ";
  EXPECT_NEAR(*result(keys + "-0.1", now, &before).findings[0].judged, -1 / 3., 1e-12);
  EXPECT_EQ(result(keys + "-0.1", now, &before).ruling, Ruling::kBlocked);
  EXPECT_EQ(result(keys + "-0.4", now, &before).ruling, Ruling::kPass);
}

TEST(Verdict, SentencesSayWhatWasJudged) {
  Assessment now = assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}, {"c", 30, 0, 0, 0}});
  const Assessment before = assessment_of("g", {{"a", 45, 5, 45, 5}, {"b", 30, 20, 30, 20}});
  const struct {
    const char *keys, *sentence;
  } cases[] = {
      {"metric = \"accuracy\"\nmin = 0.7",
       "accuracy is 0.65 (95 % interval 0.59 to 0.71, limit at least 0.7; 230 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nmin = 0.3\nmax = 0.35",
       "accuracy for g=b is 0.40 (95 % interval 0.31 to 0.50, limit 0.3 to 0.35; 100 rows)"},
      {"metric = \"accuracy\"\neach = \"g\"\nmin = 0.5",
       "accuracy for g=b is 0.400 (95 % interval 0.309 to 0.498, limit at least 0.5; 100 rows)"},
      {"metric = \"false_positive_rate\"\nslice = \"g=a\"\nmax = 0.195",
       "false positive rate for g=a is 0.20 (95 % interval 0.11 to 0.33, limit at most 0.195; 50 "
       "negatives)"},
      {"metric = \"accuracy\"\nbetween = \"g\"\nmax = 0.5",
       "accuracy for g=b is 0.40 against 1.00 for g=c (gap 0.60, 95 % interval 0.45 to 0.69, limit 0.5; 100 "
       "rows)"},
      {"metric = \"accuracy\"\nbetween = \"g\"\nmeasure = \"ratio\"\nmin = 0.8",
       "accuracy for g=b is 0.40 against 1.00 for g=c (ratio 0.40, 95 % interval 0.31 to 0.51, limit at "
       "least 0.8; 100 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nagainst = \"g=a\"\nmin = -0.1",
       "accuracy for g=b is 0.40 against 0.80 for g=a (difference -0.40, 95 % interval -0.51 to -0.27, limit "
       "at least -0.1; 100 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nagainst = \"overall\"\nmin = -0.1",
       "accuracy for g=b is 0.40 against 0.65 for overall (difference -0.25, limit at least -0.1; 100 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nagainst = \"g=a\"\nchange = \"absolute\"\nmin = -0.05",
       "accuracy for g=b less that for g=a is -0.40 against -0.30 in the baseline (change -0.10, 95 % "
       "interval -0.26 to 0.07, limit at least -0.05; 100 rows)"},
      {"metric = \"rows\"\nmin = 1000", "rows is 230 (limit at least 1000; 230 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nchange = \"absolute\"\nmin = -0.1",
       "accuracy for g=b is 0.40 against 0.60 in the baseline (change -0.20, 95 % interval -0.33 to -0.06, "
       "limit "
       "at least -0.1; 100 rows)"},
      {"metric = \"accuracy\"\nslice = \"g=b\"\nchange = \"relative\"\nmin = -0.1",
       "accuracy for g=b is 0.40 against 0.60 in the baseline (relative change -0.33, 95 % interval -0.50 to "
       "-0.12, limit at least -0.1; 100 rows)"},
      {"metric = \"accuracy\"\nbetween = \"g\"\nchange = \"absolute\"\nmax = 0.1",
       "gap in accuracy between g=b and g=c is 0.60 against 0.30 in the baseline (change 0.30, 95 % interval "
       "0.12 to 0.45, limit at most 0.1; 100 rows)"},
  };
  for (const auto& given : cases) {
    const GateResult found = result(given.keys, now, &before);
    EXPECT_EQ(found.ruling, Ruling::kBlocked) << given.keys;
    EXPECT_EQ(found.sentence, given.sentence);
  }
}

TEST(Verdict, FaultsOfTheDataBlockColumnByColumn) {
  const Assessment given = assessment_of("g", {{"a", 80, 0, 0, 20}});
  const std::vector<DataFault> faults = {{FaultOf::kDrift, true, "age", "age has drifted"},
                                         {FaultOf::kDrift, true, "age", "age is missing"},
                                         {FaultOf::kDrift, false, "size", "a note"},
                                         {FaultOf::kLeak, true, "", "rows stand twice"}};
  const auto of = [&](const std::string& keys, const std::vector<DataFault>* found) {
    const DataAnswer data = {.faults = found ? *found : std::vector<DataFault>(), .not_compared = {}};
    return judge(read_gates(keys, "g"), given, nullptr, kToday, found ? &data : nullptr);
  };
  const Verdict drift = of("[[gates]]\ndata = \"drift\"", &faults);
  EXPECT_EQ(drift.sentence, "Blocked: drift of the data: age has drifted (2 faults, limit 0).");
  EXPECT_EQ(drift.results[0].findings.size(), 1u);
  EXPECT_EQ(of("[[gates]]\ndata = \"drift\"\nmax = 2", &faults).ruling, Ruling::kPass);
  EXPECT_EQ(of("[[gates]]\ndata = \"schema\"", &faults).ruling, Ruling::kPass);
  EXPECT_EQ(of("[[gates]]\ndata = \"leak\"", &faults).sentence,
            "Blocked: leak of the data: rows stand twice (1 fault, limit 0).");
  // One column, and what others may take for a note.
  EXPECT_EQ(of("[[gates]]\ndata = \"drift\"\ncolumn = \"age\"", &faults).sentence,
            "Blocked: drift of age: age has drifted (2 faults, limit 0).");
  EXPECT_EQ(of("[[gates]]\ndata = \"drift\"\ncolumn = \"size\"", &faults).ruling, Ruling::kPass);
  const std::vector<DataFault> notes = {{FaultOf::kCells, false, "town", "Bonn and bonn"}};
  EXPECT_EQ(of("[[gates]]\ndata = \"cells\"", &notes).sentence,
            "Blocked: cells of the data: Bonn and bonn (1 fault, limit 0).");
  EXPECT_EQ(of("[[gates]]\ndata = \"leak\"", nullptr).sentence,
            "Undecided: leak of the data cannot be judged: there is no training table.");
  const std::string waiver =
      "\n[[waivers]]\ngate = \"data: drift\"\nslice = \"age\"\nname = \"a\"\nreason = \"b\"\n"
      "expires = 2031-01-01\n";
  EXPECT_EQ(of("[[gates]]\ndata = \"drift\"" + waiver, &faults).ruling, Ruling::kPass);
}

// Wilson's interval of 80 of 100 is 0.711 to 0.867.
TEST(Verdict, ProofsNameTheSideThatTheIntervalMustLieOn) {
  const Assessment given = assessment_of("g", {{"a", 80, 0, 0, 20}});
  const auto ruling = [&](const std::string& limits, const std::string& decide) {
    return result(cat("metric = \"accuracy\"\n", limits, "\ndecide = \"", decide, "\""), given).ruling;
  };
  constexpr Ruling kPass = Ruling::kPass, kOpen = Ruling::kUndecided, kBlocked = Ruling::kBlocked;
  const struct {
    const char* limits;
    Ruling estimate, over, under;
  } cases[] = {
      {"max = 0.9", kPass, kPass, kPass},
      {"max = 0.85", kPass, kPass, kOpen},
      {"max = 0.75", kBlocked, kPass, kOpen},
      {"max = 0.7", kBlocked, kBlocked, kBlocked},
      {"min = 0.7", kPass, kPass, kPass},
      {"min = 0.75", kPass, kOpen, kPass},
      {"min = 0.85", kBlocked, kOpen, kPass},
      {"min = 0.9", kBlocked, kBlocked, kBlocked},
      {"min = 0.7\nmax = 0.9", kPass, kPass, kPass},
      {"min = 0.75\nmax = 0.85", kPass, kOpen, kOpen},
      {"min = 0.1\nmax = 0.7", kBlocked, kBlocked, kBlocked},
      {"min = 0.75\nmax = 0.7500001", kBlocked, kOpen, kOpen},
      {"max = 0.8", kPass, kPass, kOpen},
      {"min = 0.8", kPass, kOpen, kPass},
  };
  for (const auto& given_case : cases) {
    EXPECT_EQ(ruling(given_case.limits, "estimate"), given_case.estimate) << given_case.limits;
    EXPECT_EQ(ruling(given_case.limits, "proven-over"), given_case.over) << given_case.limits;
    EXPECT_EQ(ruling(given_case.limits, "proven-under"), given_case.under) << given_case.limits;
  }
  const Verdict open =
      judged("[[gates]]\nmetric = \"accuracy\"\nmax = 0.85\ndecide = \"proven-under\"", given);
  EXPECT_EQ(
      open.sentence,
      "Undecided: accuracy is 0.80 (95 % interval 0.71 to 0.87, limit at most 0.85; 100 rows): its interval "
      "straddles the limit.");
}

TEST(Verdict, ALimitThatIsMetExactlyHolds) {
  // 0.8 - 0.7 is above 0.1 in binary.
  const Assessment given = assessment_of("g", {{"a", 7, 0, 0, 3}, {"b", 8, 0, 0, 2}});
  EXPECT_EQ(result("metric = \"accuracy\"\nbetween = \"g\"\nmax = 0.1", given).ruling, Ruling::kPass);
  EXPECT_EQ(result("metric = \"accuracy\"\nbetween = \"g\"\nmax = 0.0999", given).ruling, Ruling::kBlocked);
}

TEST(Verdict, WhatCannotBeJudgedIsUndecidedWithTheReason) {
  const Assessment now = assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 0, 3, 4, 0}});
  const Assessment before = assessment_of("g", {{"a", 0, 10, 40, 10}, {"c", 1, 1, 1, 1}});
  const Assessment one = assessment_of("g", {{"a", 0, 0, 9, 0}}), none = assessment_of("g", {});
  const Assessment zeros = assessment_of("g", {{"a", 0, 0, 9, 1}, {"b", 0, 0, 9, 1}});
  const struct {
    const char* keys;
    const Assessment *now, *before;
    const char* says;
  } cases[] = {
      {"metric = \"recall\"\nslice = \"g=b\"\nmin = 0", &now, nullptr,
       "true positive rate for g=b cannot be judged: it counts no positives"},
      {"metric = \"auc\"\nmin = 0", &now, nullptr, "AUC cannot be judged: it is undefined"},
      {"metric = \"recall\"\neach = \"g\"\nmin = 0", &now, nullptr, "for g=b"},
      {"metric = \"recall\"\nbetween = \"g\"\nmax = 1", &now, nullptr, "for g=b"},
      {"metric = \"recall\"\nslice = \"g=d\"\nmin = 0", &now, nullptr,
       "there is no such slice, but g=a and g=b"},
      {"metric = \"recall\"\nslice = \"h=d\"\nmin = 0", &now, nullptr, "no slices by h were assessed"},
      {"metric = \"recall\"\neach = \"g*h\"\nmin = 0", &now, nullptr, "no slices by g*h were assessed"},
      {"metric = \"recall\"\nthreshold = 0.7\nmin = 0", &now, nullptr, "threshold 0.7 was not assessed"},
      {"metric = \"recall\"\nleast_rows = 51\nmin = 0", &now, nullptr,
       "it counts 50 positives, fewer than 51"},
      {"metric = \"recall\"\nbetween = \"g\"\nmax = 1", &one, nullptr, "it counts no positives"},
      {"metric = \"accuracy\"\nbetween = \"g\"\nmax = 1", &one, nullptr, "there is no slice beside g=a"},
      {"metric = \"recall\"\nbetween = \"g\"\nmax = 1\nleast_rows = 4\nthin = \"left-out\"", &now, nullptr,
       "only g=a counts least_rows = 4 positives; next comes g=b with 0"},
      {"metric = \"accuracy\"\nbetween = \"g\"\nmax = 1", &none, nullptr, "there are no slices"},
      {"metric = \"accuracy\"\neach = \"g\"\nmin = 0", &none, nullptr, "there are no slices"},
      {"metric = \"accuracy\"\neach = \"g\"\nmin = 0\nleast_rows = 10\nthin = \"left-out\"", &one, nullptr,
       "no slice counts 10 rows"},
      {"metric = \"recall\"\nbetween = \"g\"\nmeasure = \"ratio\"\nmin = 0", &zeros, nullptr,
       "its ratio is undefined"},
      {"metric = \"accuracy\"\nchange = \"absolute\"\nmin = -1", &now, nullptr, "there is no baseline"},
      {"metric = \"recall\"\nchange = \"relative\"\nmin = -1\nslice = \"g=a\"", &now, &before,
       "a change relative to 0 is undefined"},
      {"metric = \"accuracy\"\nchange = \"absolute\"\nmin = -1\nslice = \"g=b\"", &now, &before,
       "in the baseline there is no such slice"},
      {"metric = \"accuracy\"\nchange = \"absolute\"\nmin = -1\neach = \"g\"", &now, &before,
       "the baseline has no such slice"},
  };
  for (const auto& given : cases) {
    const GateResult found = result(given.keys, *given.now, given.before);
    EXPECT_EQ(found.ruling, Ruling::kUndecided) << given.keys;
    EXPECT_EQ(found.findings[0].judged, std::nullopt) << given.keys;
    EXPECT_NE(found.sentence.find(given.says), std::string::npos) << found.sentence;
  }
  // A slice that was lost since the baseline.
  const GateResult lost =
      result("metric = \"accuracy\"\nchange = \"absolute\"\nmin = -1\neach = \"g\"", now, &before);
  ASSERT_EQ(lost.findings.size(), 3u);
  EXPECT_EQ(lost.findings[1].slice, "g=c");
  EXPECT_EQ(lost.findings[1].reason, "the baseline alone has this slice");
}

TEST(Verdict, GapsAreThoseOfTheFairnessRoom) {
  const RandomRows rows = random_rows(600, 3);
  CategoryColumn column{"g", {"a", "b", "c"}, {}};
  Philox random(4);
  for (size_t i = 0; i < rows.scores.size(); ++i)
    column.codes.push_back(static_cast<uint32_t>(random.below(3)));
  const Assessment assessment = assess(rows.view(), {{&column}});
  std::vector<Confusion> groups;
  for (const SliceFigures& slice : assessment.by[0].slices) groups.push_back(slice.at[0]);
  for (const Criterion& criterion : criteria()) {
    for (const Measure measure : {Measure::kDifference, Measure::kRatio}) {
      const bool ratio = measure == Measure::kRatio;
      const GateResult found =
          result(cat("criterion = \"", criterion.name, "\"\nbetween = \"g\"\nmeasure = \"",
                     ratio ? "ratio\"\nmin = 1" : "difference\"\nmax = 0"),
                 assessment);
      const CriterionGap gap = gap_of(criterion, {groups, assessment.overall.at[0]}, measure);
      ASSERT_TRUE(gap.value) << criterion.name;
      EXPECT_DOUBLE_EQ(*found.findings[0].judged, *gap.value) << criterion.name;
      EXPECT_EQ(found.findings.size(), criterion.rates.size());
      EXPECT_EQ(found.ruling, Ruling::kBlocked);
    }
  }
}

TEST(Verdict, ThinSlicesAreUndecidedOrLeftOutAndCounted) {
  const Assessment given =
      assessment_of("g", {{"a", 40, 0, 40, 20}, {"b", 1, 2, 0, 0}, {"c", 45, 0, 45, 10}});
  const std::string each = "metric = \"accuracy\"\neach = \"g\"\nmin = 0.5\nleast_rows = 10";
  EXPECT_EQ(result(each, given).ruling, Ruling::kUndecided);
  const GateResult left = result(each + "\nthin = \"left-out\"", given);
  EXPECT_EQ(left.ruling, Ruling::kPass);
  EXPECT_EQ(left.findings.size(), 2u);
  EXPECT_EQ(left.left_out, (std::set<std::string>{"g=b"}));
  const std::string between = "metric = \"accuracy\"\nbetween = \"g\"\nmax = 0.2\nleast_rows = 10";
  EXPECT_EQ(result(between, given).ruling, Ruling::kUndecided);
  const GateResult gap = result(between + "\nthin = \"left-out\"", given);
  EXPECT_NEAR(*gap.findings[0].judged, 0.1, 1e-12);
  EXPECT_EQ(gap.findings[0].compared, 2u);
  // One that is thin now is not lost.
  const Assessment before =
      assessment_of("g", {{"a", 40, 0, 40, 20}, {"b", 10, 20, 0, 0}, {"c", 45, 0, 45, 10}});
  EXPECT_EQ(result(each + "\nthin = \"left-out\"\nchange = \"absolute\"\nmax = 0.9", given, &before)
                .findings.size(),
            2u);
}

// The other side's figure follows from the gap and the first one's.
TEST(Verdict, AGapHasNoFiguresWhereEitherSideIsNotToBeNamed) {
  const Verdict verdict = judged("[[gates]]\nmetric = \"accuracy\"\nbetween = \"g\"\nmax = 0.1",
                                 assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}}));
  ASSERT_NE(verdict.sentence.find("0.40 against 0.80"), std::string::npos) << verdict.sentence;
  EXPECT_EQ(without_figures(verdict, {"g=c"}).sentence, verdict.sentence);
  for (const char* rare : {"g=a", "g=b", "accuracy"}) {
    const Verdict said = without_figures(verdict, {rare});
    EXPECT_TRUE(said.results[0].findings[0].withheld) << rare;
    EXPECT_EQ(said.sentence.find("0.40"), std::string::npos) << said.sentence;
    EXPECT_EQ(said.sentence.find("0.80"), std::string::npos) << said.sentence;
  }
}

TEST(Verdict, WaiversLetPassUntilTheyExpireAndThenBlock) {
  const Assessment given =
      assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}, {"c", 4, 30, 20, 30}});
  const std::string gate = "[[gates]]\nname = \"x\"\nmetric = \"accuracy\"\neach = \"g\"\n";
  const auto waiver = [](const std::string& expires, const std::string& slice = "") {
    return cat("[[waivers]]\ngate = \"x\"\nname = \"A. Person\"\nreason = \"r\"\nexpires = ", expires, "\n",
               slice.empty() ? "" : cat("slice = \"", slice, "\"\n"));
  };
  const std::string wrong = gate + "min = 0.5\n", right = gate + "min = 0.1\n";
  EXPECT_EQ(judged(wrong, given).ruling, Ruling::kBlocked);
  const Verdict waived = judged(wrong + waiver("2030-06-15"), given);
  EXPECT_EQ(waived.ruling, Ruling::kPass);
  EXPECT_EQ(waived.sentence, "Pass: 1 gate holds, 1 of them by a waiver.");
  EXPECT_EQ(waived.results[0].findings[0].waiver->name, "A. Person");
  EXPECT_EQ(waived.results[0].findings[0].ruling, Ruling::kBlocked);
  // What holds anyway needs no waiver, and is not counted as if it did.
  const Verdict held = judged(right + waiver("2031-01-01"), given);
  EXPECT_EQ(held.sentence, "Pass: 1 gate holds.");
  EXPECT_EQ(held.counts().waived, 0);
  for (const Finding& finding : held.results[0].findings) EXPECT_FALSE(finding.waiver) << finding.slice;
  const Verdict expired = judged(right + waiver("2030-06-14"), given);
  EXPECT_EQ(expired.ruling, Ruling::kBlocked);
  EXPECT_EQ(expired.sentence, "Blocked: the waiver of \"x\" by A. Person expired on 2030-06-14.");
  EXPECT_EQ(judged(right + "severity = \"warn\"\n" + waiver("2030-06-14"), given).ruling, Ruling::kBlocked);
  EXPECT_NE(
      judged(wrong + waiver("2030-06-14"), given).sentence.find("limit at least 0.5; 84 rows); the waiver"),
      std::string::npos);
  // Of one slice: the other still blocks, and comes first.
  const Verdict one = judged(wrong + waiver("2031-01-01", "g=c"), given);
  EXPECT_EQ(one.ruling, Ruling::kBlocked);
  EXPECT_EQ(one.results[0].findings[0].slice, "g=b");
  EXPECT_EQ(judged(wrong + waiver("2031-01-01", "g=c") + waiver("2031-01-01", "g=b"), given).ruling,
            Ruling::kPass);
}

TEST(Verdict, TheWorstGateDecidesAndWarningsDoNot) {
  const Assessment given = assessment_of("g", {{"a", 40, 10, 40, 10}});
  const std::string pass = "[[gates]]\nmetric = \"accuracy\"\nmin = 0.5\n",
                    open = "[[gates]]\nmetric = \"auc\"\nmin = 0.5\n",
                    blocked = "[[gates]]\nmetric = \"recall\"\nmin = 0.9\n", warn = "severity = \"warn\"\n";
  EXPECT_EQ(judged(pass, given).sentence, "Pass: 1 gate holds.");
  EXPECT_EQ(judged(pass + open, given).ruling, Ruling::kUndecided);
  EXPECT_EQ(judged(pass + open + blocked, given).ruling, Ruling::kBlocked);
  const Verdict warned = judged(pass + open + warn + blocked + warn, given);
  EXPECT_EQ(warned.sentence, "Pass: 1 gate holds, 2 warn.");
  const Verdict::Counts counts = warned.counts();
  EXPECT_EQ(counts.pass, 1);
  EXPECT_EQ(counts.undecided, 1);
  EXPECT_EQ(counts.blocked, 1);
  EXPECT_EQ(counts.warnings, 2);
}

// Of two classes log_loss has no interval, of several it has.
TEST(Verdict, ProofsThatNoSuchRowsCouldGiveAreRefused) {
  const std::string loss = "[[gates]]\nname = \"loss\"\nmetric = \"log_loss\"\nmax = 0.5\n",
                    proof = "decide = \"proven-under\"\n";
  Assessment two = assessment_of("g", {{"a", 40, 10, 40, 10}});
  const auto check = [](const std::string& gates, const Assessment& assessment) {
    return rule_of([&] { check_proofs(read_gates(gates, "gates.toml"), assessment); });
  };
  EXPECT_EQ(check(loss + proof, two), "gates.options");
  EXPECT_EQ(check(loss, two), "nothing");
  EXPECT_EQ(check("[[gates]]\nmetric = \"recall\"\nmax = 0.5\n" + proof, two), "nothing");
  two.options.resampling.method = IntervalMethod::kBootstrap;
  EXPECT_EQ(check(loss + proof, two), "nothing");
  Assessment several;
  several.options.thresholds.clear();
  several.overall.estimates = {{.metric = "log_loss", .value = 0.4, .variance = 0.01}};
  EXPECT_EQ(check(loss + proof, several), "nothing");
}

}  // namespace
}  // namespace espalier
