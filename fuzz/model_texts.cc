// Mutated small files of a model of the command: its lineage, the rows that judge it, its decision. Refused
// with an error that is no internal one, or of figures in their bounds.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "espalier/decision.h"
#include "fuzz/mutate.h"
#include "tables/provenance_text.h"

using namespace espalier;

namespace {

constexpr const char* kHistory = R"({"data": {"file": "a.csv", "rows": 400, "bytes": 9000, "sha256": "5a"},
"test": {"file": "b.csv", "rows": 10, "origin": "https://example.org"}, "schema": {"file": "s.pbtxt", "environment": "T"},
"split": {"kind": "random", "seed": 18446744073709551615, "learn": 288, "stop": 32, "alike": 7, "judge": 80}})";

void require(bool good, const char* what) {
  if (!good) throw InternalError(what);
}

void read_history(const std::string& text) {
  const auto lineage = lineage_in({{"lineage", parse_json(text)}}, "model");
  require(lineage && lineage->data.rows && *lineage->data.rows >= 0, "rows of the lineage");
  require(std::min({lineage->train_rows, lineage->validation_rows, lineage->test_rows}) >= 0,
          "rows of a part");
}

void read_held_out(const std::string& text) {
  const std::vector<int64_t> rows = held_out_rows(text, "model");
  require(std::ranges::is_sorted(rows), "test rows are not in order");
  require(rows.empty() || rows.front() >= 0, "a row that judges");
}

void read_decision(const std::string& text) {
  const std::vector<std::string> classes = {"no", "yes"};
  const Decision decision = Decision::from_json(text, classes);
  require(!decision.positive || *decision.positive == 0 || *decision.positive == 1, "the class");
  require(!decision.threshold || (*decision.threshold >= 0 && *decision.threshold <= 1), "the threshold");
  const Decision again = Decision::from_json(decision.to_json(classes), classes);
  require(again.positive == decision.positive && again.threshold == decision.threshold,
          "written and read it is another decision");
}

bool accept(const std::string& bytes) {
  const std::string text = bytes.substr(std::min<size_t>(1, bytes.size()));
  try {
    switch (bytes.empty() ? 0 : bytes[0] % 3) {
      case 0:
        read_history(text);
        break;
      case 1:
        read_held_out(text);
        break;
      default:
        read_decision(text);
    }
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = {std::string("0") + kHistory, "1row\n3\n1\n70\n",
                                          "2{\"positive\": \"yes\", \"threshold\": 0.3}"};
  return fuzz::run(argc, argv, "fuzz_model_texts", seeds,
                   {"-1", "1.5", "1e300", "4503599627370497", "18446744073709551616", "null", "[]", "{}",
                    "\"no\"", "true", "\"rows\": ", "\"bytes\": ", "\"threshold\": "},
                   accept);
}
