// Mutated files of scores, read for every task: refused with an error that names the file, or rows that are
// judged.
#include <filesystem>

#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "tables/scored_table.h"

using namespace espalier;

namespace {

const std::vector<ScoredColumns>& all_flags() {
  static const std::vector<ScoredColumns> out = {
      {.label = "y", .score = "p"},
      {.label = "y", .score = "p", .weight = "w"},
      {.label = "k", .score = "s", .weight = "w", .task = ScoreTask::kClasses},
      {.label = "k", .score = "ant=p,bee=b", .task = ScoreTask::kClasses},
      {.label = "y", .score = "p", .weight = "w", .task = ScoreTask::kRegression},
      {.label = "y", .score = "p", .query = "q"},
  };
  return out;
}

void judge(const ScoredTable& rows, const ScoredColumns& flags) {
  const size_t count = rows.rows.size();
  if (!count || (!flags.weight.empty() && rows.weights.size() != count))
    throw InternalError("rows are left out in silence");
  for (const int64_t row : rows.rows) {
    if (row < 0 || row >= rows.table.rows()) throw InternalError("rows that the table does not have");
  }
  const Assessment all = rows.assess({}, {});
  if (all.overall.slice.rows != static_cast<int64_t>(count)) throw InternalError("other rows are judged");
}

// Notes and warnings of each table would hide what the fuzzer says, which it writes past stderr.
struct Quiet {
  std::FILE* const before = stderr;
  Quiet() {
    static std::FILE* const nowhere = std::fopen("/dev/null", "w");
    stderr = nowhere;
  }
  ~Quiet() { stderr = before; }
};

bool accept(const std::string& bytes) {
  const Quiet quiet;
  const std::string path = fuzz::file_with(bytes), name = std::filesystem::path(path).filename();
  bool accepted = false;
  for (const ScoredColumns& flags : all_flags()) {
    try {
      judge(read_scores(path, {}, flags, {"", "?"}, {}, Expression("w != 7")), flags);
      accepted = true;
    } catch (const Error& error) {
      if (dynamic_cast<const InternalError*>(&error)) throw;
      const bool of_condition = error.rule() == "where.rows" || error.rule().starts_with("expression.");
      if (!of_condition && error.message().find(name) == std::string::npos)
        throw InternalError("a refusal that names no file: " + error.message());
    }
  }
  return accepted;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      "y,p,w,q,k,s,b\n1,0.75,1,a,ant,ant,0.25\n0,0.25,2,a,bee,ant,0.75\n1,0.5,0.5,b,ant,bee,0.5\n",
      "y,p,w\nyes,1,0\nno,0,3\nyes,0.125,7\n?,0.5,1\n",
      "k,s,w,q\nant,bee,1,x\n\"bee, or \"\"wasp\"\"\",ant,2,y\nbee,bee,1e3,\n",
      "y,p,w,q\r\n3.5,2,1,u\r\n0,-1e9,1,u\r\n1,1e308,1,v\r\n", "p,b,k,w\n0.99,0.01,ant,1\n1e-300,1,bee,0\n"};
  return fuzz::run(argc, argv, "fuzz_scores", seeds, {",",    "\n",
                                                      "\"",   "\"\"",
                                                      "?",    "nan",
                                                      "inf",  "1e308",
                                                      "-0",   "0.5",
                                                      "1",    "yes",
                                                      "no",   "true",
                                                      "ant",  "bee",
                                                      "y",    "p",
                                                      "w",    ";",
                                                      "\xff", std::string(1, '\0'),
                                                      "\r\n", "18446744073709551616"},
                   accept, fuzz::kTenfold);
}
