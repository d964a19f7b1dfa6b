// Mutated files of gates: refused with a FormatError that names the source, or gates that judge.
#include "gate/gates.h"

#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "gate/figures_test.h"
#include "gate/reports.h"

using namespace espalier;

namespace {

// By sex, and within it by job, of which one has no row of f.
const Assessment& assessment() {
  static const Assessment out = [] {
    Assessment all = assessment_of("sex", {{"f", 40, 10, 40, 10}, {"m", 20, 30, 20, 30}, {"x", 1, 0, 0, 0}});
    SlicingFigures& by = all.by.emplace_back();
    by.columns = {"sex", "job"};
    by.slices = {slice_of("sex=f, job=a", {"f", "a"}, 40, 10, 40, 10),
                 slice_of("sex=m, job=a", {"m", "a"}, 10, 10, 10, 20),
                 slice_of("sex=m, job=b", {"m", "b"}, 10, 20, 10, 10)};
    return all;
  }();
  return out;
}
const DataAnswer& answer() {
  static const DataAnswer out = {.faults = {{.of = FaultOf::kDrift, .column = "age"}}, .not_compared = {}};
  return out;
}

bool accept(const std::string& text) {
  Gates gates;
  try {
    gates = read_gates(text, "gates.toml");
  } catch (const FormatError& error) {
    if (!error.message().starts_with("gates.toml")) throw InternalError("a mistake without its source");
    return false;
  }
  const Verdict verdict =
      judge(gates, assessment(), &assessment(), std::chrono::year(2030) / 6 / 15, &answer());
  const Verdict::Counts counts = verdict.counts();
  if (counts.pass + counts.undecided + counts.blocked != static_cast<int64_t>(gates.gates.size()))
    throw InternalError("a gate without a ruling");
  for (const auto& report : {json_report, junit_report, prometheus_report}) {
    if (report(verdict).empty()) throw InternalError("an empty report");
  }
  return true;
}

constexpr const char* kLong = R"(level = 0.9
threshold = 0.5
least_rows = 2
[[gates]]
name = "women are found"
metric = "recall"
slice = "sex=f"
min = 0.6
max = 0.9
decide = "proven-over"
severity = "warn"
[[gates]]
criterion = "equalised_odds"
between = "sex"
measure = "ratio"
min = 0.8
thin = "left-out"
[[gates]]
metric = "accuracy"
each = "sex"
change = "relative"
min = -1e-2
threshold = 5e-1
[[waivers]]
gate = "women are found"
name = "A. Person"
reason = """a
reason"""
expires = 2031-12-31
)";

constexpr const char* kConditions = R"toml(where = "age >= 18 and not (city is missing)"
[slices]
senior = 'age between 60 and 99'
"long hours" = 'hours > 50 or job in ("a", "b")'
[answers]
harm = "a refusal"
worry = "errors"
[[gates]]
metric = "accuracy"
slice = "senior=yes"
min = 0.5
[[gates]]
data = "drift"
max = 2
[[gates]]
data = "schema"
severity = "warn"
[[gates]]
metric = "recall"
each = "sex"
against = "sex=m"
min = -0.1
change = "absolute"
[[gates]]
metric = "auc"
slice = "sex=f"
against = "overall"
max = 0.2
[[gates]]
criterion = "equal_opportunity"
between = "sex"
given = "job"
max = 0.1
decide = "proven-under"
[[waivers]]
gate = "data: drift"
slice = "age"
name = "A. Person"
reason = "known"
expires = 2031-12-31
)toml";

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_gates", {gates_of(assessment()), kLong, kConditions},
                   {"[[gates]]\n",
                    "[[waivers]]\n",
                    "gates = [",
                    "{",
                    "}",
                    "[",
                    "]",
                    "=",
                    ".",
                    "\"",
                    "'''",
                    "#",
                    "\n",
                    "\\u0000",
                    "\\U0010FFFF",
                    "-1",
                    "1e308",
                    "1e999",
                    "nan",
                    "-inf",
                    "9223372036854775808",
                    "1979-05-27",
                    "0000-01-01",
                    "1979-05-27T07:32:00Z",
                    "true",
                    "metric = \"auc\"\n",
                    "criterion = \"treatment_equality\"\n",
                    "each = \"sex*age\"\n",
                    "between = \"sex\"\n",
                    "change = \"absolute\"\n",
                    "against = \"sex=f\"\n",
                    "against = \"overall\"\n",
                    "given = \"job\"\n",
                    "where = 'a > 1'\n",
                    "[slices]\n",
                    "[answers]\n",
                    "data = \"leak\"\n",
                    " and ",
                    " is missing",
                    "(",
                    "decide = \"proven-under\"\n",
                    "thin = \"undecided\"\n",
                    "*",
                    ", ",
                    "\xff",
                    "\xef\xbb\xbf",
                    "\r\n"},
                   accept, fuzz::kTenfold);
}
