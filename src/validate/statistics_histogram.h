// Quantiles and histograms of numbers in order.
#pragma once

#include <span>
#include <vector>

#include "validate/metadata_files.h"

namespace espalier {

// Numbers from `low` to `high` (or one number), and how many or how heavy they are.
struct ValueMass {
  double low = 0, high = 0, mass = 0;
};

// In order, none of them without mass.
class ValueDistribution {
 public:
  explicit ValueDistribution(std::vector<ValueMass> values);

  bool empty() const { return values_.empty(); }
  double min() const { return values_.front().low; }
  double max() const { return values_.back().high; }
  // The least number that at least `part` of `parts` of the mass do not exceed; between the ends of a range,
  // in proportion.
  double quantile(int part, int parts) const;
  // The mean of the two where a number ends just at the middle.
  double median() const;
  // The largest share of the mass that lies in one range: by so much may the rank of a quantile be wrong.
  double rank_error() const;

  // Buckets of one width between the finite ends, low ends left out but for the first; infinities have their
  // own. Counted, in proportion where a range lies in two.
  tfmd::Histogram standard(int buckets) const;
  // Buckets of one mass.
  tfmd::Histogram quantiles(int buckets) const;

 private:
  size_t find(double target) const;
  std::vector<ValueMass> values_;
  std::vector<double> before_;  // the mass before each, and all of it
};

}  // namespace espalier
