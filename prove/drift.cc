// Drift is seen where there is one that matters, and seldom else.
#include "evaluate/drift.h"

#include "base/philox.h"
#include "table.h"

namespace espalier::prove {
namespace {

double normal(Philox& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return sum;
}

// One column of numbers, of which the second law lies `shift` deviations higher.
bool drifted(uint64_t seed, int64_t rows, double shift) {
  const auto table = [&](uint64_t stream, double by) {
    Philox random(seed, stream);
    std::string text = "size\n";
    for (int64_t i = 0; i < rows; ++i) text += cat(100 + 15 * (normal(random) + by), "\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const auto all = find_drift(table(1, 0), table(2, shift));
  return !all.empty() && all[0].drifted;
}
// One column of five values, of which the first takes `more` of a thousand from the others.
bool values_drifted(uint64_t seed, int64_t rows, uint64_t more) {
  const auto table = [&](uint64_t stream, uint64_t often) {
    Philox random(seed, stream);
    std::string text = "kind\n";
    for (int64_t i = 0; i < rows; ++i)
      text += random.below(1000) < often ? std::string("a\n") : cat("b", random.below(4), "\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const auto all = find_drift(table(3, 300), table(4, 300 + more));
  return !all.empty() && all[0].drifted;
}

void run(Proofs& proofs) {
  constexpr int64_t kPlants = 20, kTrivial = 5;
  struct Size {
    int64_t rows, seeds;
  };
  for (const Size size : {Size{100, 100}, Size{1000, 100}, Size{100000, 100}}) {
    const int64_t most = 7 * size.seeds / 100;
    proofs.at_most("drift", cat("equal laws, numbers, ", size.rows, " rows: an alarm"),
                   seeds(size.seeds, [&](uint64_t seed) { return drifted(seed, size.rows, 0); }), size.seeds,
                   most);
    proofs.at_most("drift", cat("equal laws, values, ", size.rows, " rows: an alarm"),
                   seeds(size.seeds, [&](uint64_t seed) { return values_drifted(seed, size.rows, 0); }),
                   size.seeds, most);
  }
  proofs.at_least("drift", "0.1 deviations, 100000 rows: found",
                  seeds(kPlants, [](uint64_t seed) { return drifted(seed, 100000, 0.1); }), kPlants, kPlants);
  proofs.at_least("drift", "a share 0.05 larger, 100000 rows: found",
                  seeds(kPlants, [](uint64_t seed) { return values_drifted(seed, 100000, 50); }), kPlants,
                  kPlants);
  proofs.at_most("drift", "0.02 deviations, 1000000 rows: an alarm",
                 seeds(kTrivial, [](uint64_t seed) { return drifted(seed, 1000000, 0.02); }), kTrivial, 0);
  proofs.at_most("drift", "a share 0.01 larger, 1000000 rows: an alarm",
                 seeds(kTrivial, [](uint64_t seed) { return values_drifted(seed, 1000000, 10); }), kTrivial,
                 0);
}

}  // namespace
}  // namespace espalier::prove

int main(int argc, char** argv) { return espalier::prove::prove(argc, argv, espalier::prove::run); }
