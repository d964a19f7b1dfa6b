// The worst slice is found where one is planted and none where there is none; gaps by chance raise few
// alarms; a model that cannot read an attribute does not flip with it.
#include "base/philox.h"
#include "espalier/espalier.h"
#include "fairness/flip.h"
#include "fairness/permutation.h"
#include "fairness/worst_slices.h"
#include "table.h"

namespace espalier::prove {
namespace {

constexpr int64_t kSeeds = 100;
constexpr size_t kRows = 10000;

// Rows of which one in ten is said wrongly, and of those with the value 3 of both the second and the fifth
// column, a hundredth of all, `planted` of ten.
struct Rows {
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  std::vector<CategoryColumn> columns;

  Rows(uint64_t seed, uint64_t planted) {
    Philox random(seed, 0x51CE);
    for (int c = 0; c < 6; ++c) {
      columns.push_back({cat("c", c), {}, {}});
      for (int value = 0; value < 10; ++value) columns.back().values.push_back(cat("v", value));
    }
    for (size_t i = 0; i < kRows; ++i) {
      for (CategoryColumn& column : columns) column.codes.push_back(static_cast<uint32_t>(random.below(10)));
      const bool bad = columns[1].codes[i] == 3 && columns[4].codes[i] == 3;
      const bool label = random.below(10) < 4, wrong = random.below(10) < (bad ? planted : 1);
      labels.push_back(label);
      scores.push_back(label != wrong ? 0.8 : 0.2);
    }
  }
  WorstSlices worst(uint64_t seed) const {
    std::vector<const CategoryColumn*> by;
    for (const CategoryColumn& column : columns) by.push_back(&column);
    return worst_slices(ScoredRows{scores, labels}, by, {.seed = seed});
  }
};

void worst(Proofs& proofs) {
  proofs.at_least("worst slices", "a planted one of 1 % of the rows, two columns deep, is first",
                  seeds(kSeeds,
                        [](uint64_t seed) {
                          const WorstSlices found = Rows(seed, 6).worst(seed);
                          return !found.found.empty() && found.found[0].name == "c1=v3, c4=v3";
                        }),
                  kSeeds, 95);
  proofs.at_most("worst slices", "clean rows with a discovery",
                 seeds(kSeeds, [](uint64_t seed) { return Rows(seed, 1).worst(seed).discovered > 0; }),
                 kSeeds, 10);
}

// Models of two inputs, a size and an attribute of 0 or 1; `reads` of the attribute.
void flips(Proofs& proofs) {
  constexpr int64_t kModels = 10, kPeople = 400;
  const auto flip_rate = [](uint64_t seed, bool reads) {
    set_seed(seed);
    Philox random(seed, 0xF11);
    std::vector<float> x, with_0, with_1;
    std::vector<int32_t> y;
    CategoryColumn attribute{"attribute", {"0", "1"}, {}};
    for (int64_t i = 0; i < kPeople; ++i) {
      const auto size = static_cast<float>(random.uniform());
      const auto value = static_cast<uint32_t>(random.below(2));
      const auto row = [&](std::vector<float>& to, uint32_t code) {
        to.push_back(size);
        if (reads) to.push_back(static_cast<float>(code));
      };
      row(x, value);
      row(with_0, 0);
      row(with_1, 1);
      attribute.codes.push_back(value);
      y.push_back(size + 0.5f * static_cast<float>(value) > 0.75f);
    }
    const int64_t width = reads ? 2 : 1;
    Sequential model{Dense({.units = 8, .activation = "relu"}), Dense({.units = 2})};
    model.compile({.optimizer = Adam{.learning_rate = 0.02}});
    model.fit(Tensor::of(x, {kPeople, width}), Tensor::of(y, {kPeople}), {.epochs = 15});
    const auto said = [&](const std::vector<float>& rows) {
      std::vector<uint32_t> out;
      const Tensor classes = argmax(model.predict(Tensor::of(rows, {kPeople, width})), -1);
      for (const int32_t c : classes.to_vector<int32_t>()) out.push_back(c == 1);
      return out;
    };
    return count_flips(said(x), attribute, {said(with_0), said(with_1)}).overall.flips();
  };
  proofs.at_least("flip rate", "models that read the attribute: above 0",
                  seeds(kModels, [&](uint64_t seed) { return flip_rate(seed, true) > 0; }), kModels, kModels);
  proofs.at_least("flip rate", "models that cannot: exactly 0",
                  seeds(kModels, [&](uint64_t seed) { return flip_rate(seed, false) == 0; }), kModels,
                  kModels);
}

}  // namespace
}  // namespace espalier::prove

int main(int argc, char** argv) {
  return espalier::prove::prove(argc, argv, [](espalier::prove::Proofs& proofs) {
    espalier::prove::worst(proofs);
    espalier::prove::flips(proofs);
  });
}
