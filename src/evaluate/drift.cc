#include "evaluate/drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/digits.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/thread_pool.h"
#include "data/column_guess.h"
#include "data/equal_values.h"
#include "evaluate/multiplicity.h"
#include "evaluate/sample_walk.h"
#include "evaluate/stability.h"
#include "evaluate/wasserstein.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr int64_t kFewRows = kRowsForDrift;
constexpr int64_t kFewNumbers = 20;  // different ones are values
constexpr size_t kMostValues = 200;  // of a column; the rarer ones are counted together

// 1 - the law of Kolmogorov: 2 sum (-1)^(k-1) exp(-2 k^2 x^2).
double kolmogorov_tail(double x) {
  if (x < 0.2) return 1;
  double sum = 0;
  for (int k = 1; k <= 100; ++k) {
    const double term = std::exp(-2.0 * k * k * x * x);
    sum += k % 2 ? term : -term;
    if (term < 1e-17) break;
  }
  return std::clamp(2 * sum, 0.0, 1.0);
}

// The upper incomplete gamma function over the complete one: a series below a + 1, else Lentz's continued
// fraction (Press et al., Numerical Recipes, section 6.2).
double gamma_tail(double a, double x) {
  if (x <= 0) return 1;
  const double scale = std::exp(-x + a * std::log(x) - std::lgamma(a));
  constexpr int kTerms = 10000;
  constexpr double kEnough = 1e-15;
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < kTerms && std::abs(term) > kEnough * std::abs(sum); ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return std::clamp(1 - sum * scale, 0.0, 1.0);
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, out = d;
  for (int n = 1; n < kTerms; ++n) {
    const double step = -n * (n - a);
    b += 2;
    d = step * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + step / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    out *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return std::clamp(out * scale, 0.0, 1.0);
}

struct BinCounts {
  std::vector<int64_t> a, b;
};

// Bins of fewer than five expected rows as one, and where these are still fewer, with the rarest other one.
BinCounts thin_together(std::span<const int64_t> a, std::span<const int64_t> b) {
  constexpr double kLeast = 5;
  const auto of_a = static_cast<double>(std::accumulate(a.begin(), a.end(), int64_t{0}));
  const auto of_b = static_cast<double>(std::accumulate(b.begin(), b.end(), int64_t{0}));
  const auto thin = [&](int64_t rows) {
    return static_cast<double>(rows) * std::min(of_a, of_b) < kLeast * (of_a + of_b);
  };
  BinCounts out;
  int64_t rest_a = 0, rest_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (thin(a[i] + b[i])) {
      rest_a += a[i];
      rest_b += b[i];
    } else {
      out.a.push_back(a[i]);
      out.b.push_back(b[i]);
    }
  }
  if (rest_a + rest_b == 0) return out;
  if (out.a.empty() || !thin(rest_a + rest_b)) {
    out.a.push_back(rest_a);
    out.b.push_back(rest_b);
    return out;
  }
  size_t rarest = 0;
  for (size_t i = 1; i < out.a.size(); ++i) {
    if (out.a[i] + out.b[i] < out.a[rarest] + out.b[rarest]) rarest = i;
  }
  out.a[rarest] += rest_a;
  out.b[rarest] += rest_b;
  return out;
}

// Tenths of `before`, and how many of each lie in them.
BinCounts tenths_of(const std::vector<double>& before, const std::vector<double>& now) {
  constexpr size_t kBins = 10;
  std::vector<double> edges;
  for (size_t i = 1; i < kBins; ++i) edges.push_back(before[i * before.size() / kBins]);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  BinCounts out{.a = std::vector<int64_t>(edges.size() + 1), .b = std::vector<int64_t>(edges.size() + 1)};
  const auto count = [&](const std::vector<double>& values, std::vector<int64_t>& into) {
    for (const double value : values)
      ++into[static_cast<size_t>(std::ranges::upper_bound(edges, value) - edges.begin())];
  };
  count(before, out.a);
  count(now, out.b);
  return out;
}

ColumnDrift numbers_drift(const std::vector<double>& before, const std::vector<double>& now) {
  constexpr double kSmirnov = 1.358;  // 0.95 of the law of Kolmogorov lie below
  const auto n = static_cast<double>(before.size()), m = static_cast<double>(now.size());
  const KolmogorovSmirnov test = kolmogorov_smirnov(before, now);
  const double bound = kSmirnov * std::sqrt((n + m) / (n * m));
  ColumnDrift out{.column = {},
                  .of = DriftOf::kNumbers,
                  .effect = test.distance,
                  .interval = {std::max(0.0, test.distance - bound), std::min(1.0, test.distance + bound)}};
  out.p = test.p;
  const BinCounts tenths = tenths_of(before, now);
  out.stability = stability_index(tenths.a, tenths.b);
  out.stability_interval = stability_interval(tenths.a, tenths.b);
  const double mean = std::accumulate(before.begin(), before.end(), 0.0) / n;
  double squares = 0;
  for (const double value : before) squares += (value - mean) * (value - mean);
  if (const double deviation = std::sqrt(squares / n); deviation > 0) {
    const Interval interval = wasserstein_interval(before, now);
    out.wasserstein = wasserstein(before, now) / deviation;
    out.wasserstein_interval = Interval{interval.low / deviation, interval.high / deviation};
  }
  return out;
}

ColumnDrift share_drift(int64_t before, int64_t of_before, int64_t now, int64_t of_now, double level) {
  ColumnDrift out{.column = {}, .of = DriftOf::kMissing};
  out.share_before = static_cast<double>(before) / static_cast<double>(of_before);
  out.share_now = static_cast<double>(now) / static_cast<double>(of_now);
  const Proportion a{out.share_now, static_cast<double>(of_now)};
  const Proportion b{out.share_before, static_cast<double>(of_before)};
  const Interval interval = newcombe(a, b, level);
  // Of the size of the difference.
  const bool less = out.share_now < out.share_before;
  out.effect = std::abs(out.share_now - out.share_before);
  out.interval = less ? Interval{-interval.high, -interval.low} : interval;
  out.interval.low = std::max(0.0, out.interval.low);
  return out;
}

// None where each of several values comes too seldom to be compared.
std::optional<ColumnDrift> values_drift(const ColumnProfile& before, const ColumnProfile& now) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> counts;
  for (const auto& value : before.values) counts[value.text].first += value.count;
  for (const auto& value : now.values) counts[value.text].second += value.count;
  std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> ranked(counts.begin(), counts.end());
  std::ranges::stable_sort(ranked, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.first + entry.second.second; });
  std::vector<int64_t> a, b;
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (i > kMostValues) {
      a.back() += ranked[i].second.first;
      b.back() += ranked[i].second.second;
      continue;
    }
    a.push_back(ranked[i].second.first);
    b.push_back(ranked[i].second.second);
  }
  const std::optional<ChiSquare> test = chi_square(a, b);
  if (!test && ranked.size() > 1) return std::nullopt;
  const auto share = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  size_t worst = 0;
  double most = -1;
  for (size_t i = 0; i < std::min(ranked.size(), kMostValues); ++i) {
    const double difference = std::abs(share(b[i], now.present()) - share(a[i], before.present()));
    if (difference > most) most = difference, worst = i;
  }
  const auto values = static_cast<double>(std::max<size_t>(std::min(ranked.size(), kMostValues), 1));
  ColumnDrift out =
      share_drift(a[worst], before.present(), b[worst], now.present(), 1 - (1 - kLevel) / values);
  out.of = DriftOf::kValues;
  out.value = ranked[worst].first;
  const BinCounts bins = thin_together(a, b);
  out.stability = stability_index(bins.a, bins.b);
  out.stability_interval = stability_interval(bins.a, bins.b);
  if (test) out.p = test->p;
  return out;
}

bool goes_on(const std::string& name, const ColumnProfile& profile) {
  return date_style(name, profile).has_value();
}

// Of codes that begin with zeros, 02134 and 10115, the one width; none of other columns.
std::optional<size_t> code_width(const ColumnProfile& profile) {
  if (profile.count(has_leading_zero) == 0) return std::nullopt;
  std::map<size_t, int64_t> widths;
  for (const auto& value : profile.values) {
    if (std::ranges::all_of(value.text, is_digit)) widths[value.text.size()] += value.count;
  }
  for (const auto& [width, cells] : widths) {
    if (nearly_all(cells, profile.present())) return width;
  }
  return std::nullopt;
}

// How many cells are of another width than the codes of one table: those that lost their zeros.
std::function<int64_t(const ColumnProfile&)> of_another_width(const ColumnProfile& before,
                                                              const ColumnProfile& now) {
  std::optional<size_t> width = code_width(before);
  if (!width) width = code_width(now);
  if (!width) return {};
  return [width = *width](const ColumnProfile& cells) {
    return cells.count([&](std::string_view text) { return text.size() != width; });
  };
}

// Where one table has true and false, the other 1 and 0, or another word: those of `before`, where it has
// both and nearly nothing else.
ColumnProfile in_words_of(const ColumnProfile& before, const ColumnProfile& now) {
  const int64_t truths =
      before.count([](std::string_view text) { return read_truth_or_bit(text).has_value(); });
  const auto words = [](const ColumnProfile& of) {
    return of.count([](std::string_view text) { return read_truth(text).has_value(); }) > 0;
  };
  if (!nearly_all(truths, before.present()) || !(words(before) || words(now))) return now;
  ColumnProfile out = now;
  for (auto& value : out.values) {
    const std::optional<bool> truth = read_truth_or_bit(value.text);
    for (const auto& word : before.values) {
      if (!truth || read_truth_or_bit(word.text) != truth) continue;
      value.text = word.text;
      break;
    }
  }
  return out;
}

// How many cells are no dates, or no numbers; none where the column is of neither.
std::function<int64_t(const ColumnProfile&)> unlike(const std::string& name, const ColumnProfile& profile) {
  const auto others = [](const auto& read) {
    return [read](const ColumnProfile& cells) {
      return cells.present() - cells.count([&](std::string_view text) { return read(text).has_value(); });
    };
  };
  if (const auto style = date_style(name, profile))
    return others([style = *style](std::string_view text) { return read_date(text, style); });
  if (const auto form = form_of_all(numbers_alone(profile)))
    return others([form = *form](std::string_view text) { return read_number(text, form); });
  return {};
}
// The share of cells of another form.
ColumnDrift form_drift(const std::function<int64_t(const ColumnProfile&)>& count, const ColumnProfile& before,
                       const ColumnProfile& now) {
  const int64_t of_before = count(before), of_now = count(now);
  ColumnDrift out = share_drift(of_before, before.present(), of_now, now.present(), kLevel);
  out.of = DriftOf::kForm;
  const int64_t a[] = {of_before, before.present() - of_before}, b[] = {of_now, now.present() - of_now};
  if (const auto test = chi_square(a, b)) out.p = test->p;
  return out;
}
// The same, where the column of one table is of dates or numbers.
std::optional<ColumnDrift> form_drift(const std::string& name, const ColumnProfile& before,
                                      const ColumnProfile& now) {
  auto count = unlike(name, before);
  if (!count) count = unlike(name, now);
  if (!count) return std::nullopt;
  return form_drift(count, before, now);
}

}  // namespace

KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> a, std::span<const double> b) {
  KolmogorovSmirnov out;
  walk_samples(a, b, [&](double, double, double of_a, double of_b) {
    out.distance = std::max(out.distance, std::abs(of_a - of_b));
  });
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double root = std::sqrt(n * m / (n + m));
  out.p = kolmogorov_tail((root + 0.12 + 0.11 / root) * out.distance);
  return out;
}

double chi_square_tail(double x, double degrees) { return gamma_tail(degrees / 2, x / 2); }

std::optional<ChiSquare> chi_square(std::span<const int64_t> a, std::span<const int64_t> b) {
  const auto of_a = static_cast<double>(std::accumulate(a.begin(), a.end(), int64_t{0}));
  const auto of_b = static_cast<double>(std::accumulate(b.begin(), b.end(), int64_t{0}));
  if (of_a == 0 || of_b == 0) return std::nullopt;
  const BinCounts bins = thin_together(a, b);
  ChiSquare out{.degrees = static_cast<int64_t>(bins.a.size()) - 1};
  if (out.degrees < 1) return std::nullopt;
  for (size_t i = 0; i < bins.a.size(); ++i) {
    const auto x = static_cast<double>(bins.a[i]), y = static_cast<double>(bins.b[i]);
    const double expected_a = (x + y) * of_a / (of_a + of_b), expected_b = (x + y) * of_b / (of_a + of_b);
    out.statistic +=
        (x - expected_a) * (x - expected_a) / expected_a + (y - expected_b) * (y - expected_b) / expected_b;
  }
  out.p = chi_square_tail(out.statistic, static_cast<double>(out.degrees));
  return out;
}

std::string text(const ColumnDrift& drift) {
  const std::string interval =
      cat("95 % interval ", fixed(drift.interval.low, 3), " to ", fixed(drift.interval.high, 3), "; ",
          drift.rows_before, " and ", drift.rows_now, " rows");
  const std::string difference = cat("(", fixed(drift.effect, 3), " apart, ", interval, ")");
  switch (drift.of) {
    case DriftOf::kNumbers:
      return cat("distributions of ", drift.column, " are ", fixed(drift.effect, 3), " apart (", interval,
                 ")");
    case DriftOf::kValues:
      return cat(name_in_list(drift.column), "=", drift.value, " was ", fixed(drift.share_before, 3),
                 " of the rows and is ", fixed(drift.share_now, 3), " ", difference);
    case DriftOf::kMissing:
      return cat(drift.column, " was missing in ", fixed(drift.share_before, 3), " of the rows and is in ",
                 fixed(drift.share_now, 3), " ", difference);
    case DriftOf::kForm:
      return cat(drift.column, " was of another form in ", fixed(drift.share_before, 3),
                 " of the rows and is in ", fixed(drift.share_now, 3), " ", difference);
  }
  return "";
}

NotCompared too_few(const std::string& column, int64_t have, int64_t needed, const char* what) {
  return {column, cat(counted(have, what), ", ", needed, " needed"), have, needed};
}

namespace {

// What the cells of a column say of each other in two tables.
struct ColumnAnswer {
  std::vector<ColumnDrift> drifts;
  std::vector<NotCompared> not_compared;
};
ColumnAnswer compare_column(const std::string& name, const ColumnProfile& cells_a,
                            const ColumnProfile& cells_b) {
  ColumnAnswer out;
  const EqualValues equal(cells_a, cells_b);
  const ColumnProfile a = by_value(cells_a, equal), b = by_value(cells_b, equal);
  const auto add = [&](ColumnDrift drift, int64_t of_before, int64_t of_now) {
    drift.column = name;
    drift.rows_before = of_before;
    drift.rows_now = of_now;
    out.drifts.push_back(std::move(drift));
  };
  if (a.missing + b.missing > 0) {
    ColumnDrift drift = share_drift(a.missing, a.rows(), b.missing, b.rows(), kLevel);
    const int64_t of_a[] = {a.missing, a.present()}, of_b[] = {b.missing, b.present()};
    if (const auto test = chi_square(of_a, of_b)) drift.p = test->p;
    add(drift, a.rows(), b.rows());
  }
  if (const int64_t cells = std::min(a.present(), b.present()); cells < kFewRows) {
    out.not_compared.push_back(too_few(name, cells, kFewRows, "value"));
    return out;
  }
  if (names_rows(name, a) && names_rows(name, b)) {
    out.not_compared.push_back({name, "it names the rows: no two are alike in it"});
    return out;
  }
  if (goes_on(name, a) && goes_on(name, b)) {
    out.not_compared.push_back(
        {name, "dates go on by themselves: their form and span are asked by data check"});
    return out;
  }
  if (goes_on(name, a) || goes_on(name, b)) {
    add(*form_drift(name, a, b), a.present(), b.present());
    return out;
  }
  if (const auto width = of_another_width(a, b); width && width(a) + width(b) > 0)
    add(form_drift(width, a, b), a.present(), b.present());
  if (a.different() > kFewNumbers || b.different() > kFewNumbers) {
    const ColumnProfile x = numbers_alone(a), y = numbers_alone(b);
    if (const std::optional<NumberForm> form = form_of_all(x, y)) {
      add(numbers_drift(sorted_numbers(x, *form), sorted_numbers(y, *form)), x.present(), y.present());
      return out;
    }
    if (auto drift = form_drift(name, a, b)) {
      add(std::move(*drift), a.present(), b.present());
      return out;
    }
  }
  if (auto drift = values_drift(in_words_of(a, a), in_words_of(a, b)))
    add(std::move(*drift), a.present(), b.present());
  else
    out.not_compared.push_back(
        {name, cat("its values come too seldom to be compared: ", std::max(a.different(), b.different()),
                   " different ones in a table")});
  return out;
}

}  // namespace

std::vector<ColumnDrift> find_drift(const CsvTable& before, const CsvTable& now, const DriftOptions& options,
                                    std::vector<NotCompared>* not_compared) {
  std::vector<ColumnDrift> out;
  const auto pass_over = [&](NotCompared why) {
    if (not_compared) not_compared->push_back(std::move(why));
  };
  if (const int64_t rows = std::min(before.rows(), now.rows()); rows < kFewRows) {
    pass_over(too_few("", rows, kFewRows, "row"));
    return out;
  }
  const MissingWords& missing = options.missing;
  const std::vector<int64_t> rows_before = all_rows(before), rows_now = all_rows(now);
  std::unordered_map<std::string_view, int64_t> places;
  for (int64_t c = 0; c < now.columns(); ++c) places.emplace(now.names()[static_cast<size_t>(c)], c);
  // Each by itself, in whatever order; what they say stands in that of the columns.
  std::vector<ColumnAnswer> answers(static_cast<size_t>(before.columns()));
  thread_pool().parallel_for(before.columns(), [&](int64_t c) {
    const std::string& name = before.names()[static_cast<size_t>(c)];
    const auto place = places.find(name);
    if (place == places.end()) return;
    answers[static_cast<size_t>(c)] = compare_column(name, profile_column(before, rows_before, c, missing),
                                                     profile_column(now, rows_now, place->second, missing));
  });
  for (ColumnAnswer& answer : answers) {
    std::ranges::move(answer.drifts, std::back_inserter(out));
    for (NotCompared& why : answer.not_compared) pass_over(std::move(why));
  }
  std::vector<double> p;
  for (const ColumnDrift& drift : out) p.push_back(drift.p);
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < out.size(); ++i) {
    ColumnDrift& drift = out[i];
    drift.adjusted_p = adjusted[i];
    const double least = drift.of == DriftOf::kNumbers  ? options.least_numbers
                         : drift.of == DriftOf::kValues ? options.least_values
                                                        : options.least_missing;
    drift.drifted = drift.adjusted_p <= options.alpha && drift.effect >= least;
  }
  std::ranges::stable_sort(out, [](const ColumnDrift& one, const ColumnDrift& other) {
    return std::tuple(!one.drifted, -one.effect) < std::tuple(!other.drifted, -other.effect);
  });
  return out;
}

}  // namespace espalier
