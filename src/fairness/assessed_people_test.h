// Made-up people whom a model has scored, lower for women and for the young.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/philox.h"
#include "fairness/assessment.h"

namespace espalier {

struct ScoredPeople {
  std::vector<double> scores, weights;
  std::vector<uint8_t> labels;
  CategoryColumn sex{"sex", {"Female", "Male"}, {}};
  CategoryColumn race{"race", {"White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"}, {}};
  // The last two have less than ten people.
  CategoryColumn country{
      "country", {"United-States", "Mexico", "Germany", "India & <Nepal>", "Laos", "Holand"}, {}};
  CategoryColumn age;

  explicit ScoredPeople(size_t rows = 6000, bool weighted = false) {
    Philox random(11);
    const auto draw = [&] { return static_cast<double>(random.uniform()); };
    std::vector<double> ages;
    for (size_t i = 0; i < rows; ++i) {
      const bool man = draw() < 0.66;
      const double years = 17 + 60 * draw() * draw(), kind = draw();
      sex.codes.push_back(man);
      race.codes.push_back(kind < 0.7 ? 0 : kind < 0.85 ? 1 : kind < 0.95 ? 2 : kind < 0.985 ? 3 : 4);
      country.codes.push_back(i % 1000 == 7   ? 5
                              : i % 1500 == 8 ? 4
                              : i % 40 == 1   ? 3
                              : i % 23 == 2   ? 2
                              : i % 9 == 0    ? 1
                                              : 0);
      ages.push_back(i % 50 == 0 ? std::nan("") : years);
      const double truth = -1.4 + 0.5 * man + 0.015 * (years - 25) + 2 * (draw() - 0.5);
      const double heard = truth + 2.5 * (draw() - 0.5) - 0.2 * !man - 0.2 * (years < 25);
      labels.push_back(draw() < 1 / (1 + std::exp(-2 * truth)));
      scores.push_back(1 / (1 + std::exp(-1.6 * heard)));
      if (weighted) weights.push_back(0.25 + draw());
    }
    const double edges[] = {25, 45, 65};
    age = bucket("age", ages, edges);
  }
  ScoredRows rows() const { return {scores, labels, weights}; }
  Assessment assessed(AssessmentOptions options = {
                          .thresholds = {0.3, 0.5}, .slices = {.min_rows = 200}, .histograms = true}) const {
    return assess(rows(), {{&sex}, {&race}, {&age}, {&country}, {&sex, &age}}, options);
  }
};

}  // namespace espalier
