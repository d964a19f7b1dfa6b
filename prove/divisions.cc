// Random divisions of one table into rows that train and new ones are seldom blocked, however few are new.
#include <algorithm>

#include "gate/data_faults.h"
#include "gate/random_table_test.h"
#include "table.h"

namespace espalier::prove {
namespace {

void run(Proofs& proofs) {
  constexpr int64_t kDivisions = 200, kMost = 17, kRowsThatDriftNeeds = 20;
  const AlikeRows rows(2);
  for (const int64_t now : {1, 5, 15, 60}) {
    int64_t open = 0;
    const int64_t blocked = seeds(kDivisions, [&](uint64_t seed) {
      const auto [before, after] = rows.split(seed, now);
      const DataAnswer answer = ask_data(before, &after, {.label = "y", .groups = {"sex"}});
      open += std::ranges::any_of(answer.not_compared, [](const NotJudged& each) {
        return each.of == FaultOf::kDrift && each.what.column.empty() && each.undecided;
      });
      return std::ranges::any_of(answer.faults, &DataFault::warning);
    });
    proofs.at_most("divisions", cat("300 rows and ", now, " new ones: blocked"), blocked, kDivisions, kMost);
    const int64_t left_open = now < kRowsThatDriftNeeds ? kDivisions : 0;
    proofs.between("divisions", cat("300 rows and ", now, " new ones: drift is left open"), open, kDivisions,
                   left_open, left_open);
  }
}

}  // namespace
}  // namespace espalier::prove

int main(int argc, char** argv) { return espalier::prove::prove(argc, argv, espalier::prove::run); }
