// A table of all kinds of columns, whose rows are alike: numbers, heavy tails, categories with rare ones,
// dates, missing cells, words among numbers, codes; and tables of some of its rows.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/philox.h"
#include "espalier/csv.h"

namespace espalier {

struct AlikeRows {
  std::string names = "y,amount,count,income,city,yes,placed,score,seldom,mixed,code,sex\n";
  std::vector<std::string> rows;

  explicit AlikeRows(uint64_t seed, int64_t count = 360) {
    Philox random(seed);
    const auto normal = [&] {
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
      return sum;
    };
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t day = random.below(360);
      const auto two = [](uint64_t n) { return cat(n < 10 ? "0" : "", n); };
      rows.push_back(cat(random.below(2), ",", 20 + std::round(10 * normal()) / 2, ",", random.below(12), ",",
                         std::round(100 * std::exp(2 * normal())), ",town ",
                         static_cast<int>(20 * std::pow(static_cast<double>(random.uniform()), 4)), ",",
                         random.below(3) ? "yes" : "no", ",2031-", two(1 + day / 30), "-",
                         two(1 + day % 30 % 28), ",",
                         random.below(10) ? cat(std::round(1000 * normal()) / 100) : "", ",",
                         random.below(150) ? cat(random.below(900)) : "", ",",
                         random.below(120) ? cat(std::round(100 * normal())) : "unknown", ",",
                         random.below(2) ? cat(10 + random.below(9)) : cat("A", random.below(40)), ",",
                         random.below(2) ? "f" : "m", "\n"));
    }
  }
  // A random division: the first `now` rows of a shuffle, and the 300 after them.
  std::pair<CsvTable, CsvTable> split(uint64_t seed, int64_t now) const {
    Philox random(seed, 7);
    std::vector<std::string> all = rows;
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    std::string before = names, after = names;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      if (place < now) after += all[i];
      if (place >= now && place < now + 300) before += all[i];
    }
    const CsvOptions options{.delimiter = ',', .header = CsvHeader::kYes};
    return {parse_csv(before, options), parse_csv(after, options)};
  }
};

}  // namespace espalier
