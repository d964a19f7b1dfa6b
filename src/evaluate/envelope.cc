#include "evaluate/envelope.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/format.h"
#include "base/hash.h"
#include "data/column_fit.h"
#include "data/column_guess.h"
#include "evaluate/multiplicity.h"

namespace espalier {
namespace {

double log_choose(int64_t n, int64_t k) {
  const auto factorial = [](int64_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  return factorial(n) - factorial(k) - factorial(n - k);
}

// Where rare values were too many to be kept, nobody knows which are new.
bool knows_values(const CategoryStep& step) { return !step.rare_hashes.empty() || step.other == 0; }

// What is asked of one column. `p` is the chance of what was found, `least` that of the same in all rows:
// where that is no proof either, there are too few.
struct Asked {
  Novel found;
  double p = 1;
  std::function<double(int64_t)> least = {};  // of so many new rows; none: this many rows tell
  size_t place = 0;                           // among all p
};

class NovelColumn {
 public:
  NovelColumn(const ColumnStep& step, const ColumnProfile& now) : step_(step), now_(now) {}

  // In the order of NovelOf.
  std::vector<Asked> asked() {
    missing();
    std::visit([&](const auto& how) { ask(how); }, step_.how);
    return std::move(asked_);
  }

 private:
  const SeenCells& before() const { return step_.cells; }

  Asked& add(NovelOf what, int64_t rows, int64_t of) {
    Asked& out = asked_.emplace_back();
    out.found.column = step_.column;
    out.found.what = what;
    out.found.rows = rows;
    out.found.of = of;
    return out;
  }

  // Cells of a kind, of which so many of `all` trained.
  void more_often(NovelOf what, int64_t trained, int64_t all, int64_t rows, int64_t of) {
    Asked& out = add(what, rows, of);
    if (rows > 0) out.p = more_often_chance(trained, all, rows, of);
    if (trained == 0) out.least = [all](int64_t count) { return beyond_chance(count, all, count); };
  }
  void missing() {
    more_often(NovelOf::kMissing, before().missing, before().rows(), now_.missing, now_.rows());
  }
  // Cells of which `read` makes nothing.
  template <class Read>
  void unread(const Read& read) {
    more_often(NovelOf::kForm, before().unread, before().present(),
               now_.count([&](std::string_view cell) { return !read(cell); }), now_.present());
  }

  // Numbers, or days: dates of new rows lie behind those of training rows as a rule.
  template <class Read>
  void range(const SeenRange& seen, double apart, bool dates, const Read& read) {
    if (before().read == 0 || !std::isfinite(seen.least) || !std::isfinite(seen.most)) return;
    const auto beyond = [&](double number) { return std::max(seen.least - number, number - seen.most); };
    int64_t below = 0, above = 0, far_below = 0, far_above = 0, of = 0;
    for (const ColumnProfile::Value& value : now_.values) {
      const std::optional<double> number = read(value.text);
      if (!number) continue;
      of += value.count;
      if (*number < seen.least) (beyond(*number) > apart ? far_below : below) += value.count;
      if (*number > seen.most) (beyond(*number) > apart ? far_above : above) += value.count;
    }
    const int64_t counted = dates ? 0 : below + above;
    Asked& out = add(NovelOf::kRange, far_below + far_above + counted, of);
    out.found.dates = dates;
    out.found.far_out = far_below + far_above;
    out.found.below = far_below + (dates ? 0 : below);
    out.found.above = far_above + (dates ? 0 : above);
    const auto two_sided = [n = before().read](int64_t beyond, int64_t count) {
      return std::min(1.0, 2 * beyond_chance(beyond, n, count));
    };
    out.p = two_sided(std::max(out.found.below, out.found.above), of);
    out.least = [two_sided](int64_t count) { return two_sided(count, count); };
  }

  void ask(const NumericStep& step) {
    const auto read = [&](std::string_view cell) { return step.value_of(cell); };
    unread(read);
    range(step.range, step.range.most - step.range.least, false, read);
  }
  void ask(const DateStep& step) {
    const auto read = [&](std::string_view cell) -> std::optional<double> {
      const std::optional<Moment> moment = step.moment_of(cell);
      if (!moment) return std::nullopt;
      return static_cast<double>(moment->days);
    };
    unread(read);
    // A month or two go on for as long again.
    constexpr double kLeastSpan = 62;
    range(step.range, std::max(step.range.most - step.range.least + 1, kLeastSpan), true, read);
  }
  void ask(const BooleanStep&) { unread(read_truth_or_bit); }
  void ask(const CategoryStep& step) {
    if (!knows_values(step)) return;
    const auto met = [&](std::string_view cell) {
      return step.places.contains(cell) || std::ranges::binary_search(step.rare_hashes, hash_text(cell));
    };
    int64_t rows = 0, most = 0, fresh = 0;
    for (const ColumnProfile::Value& value : now_.values) {
      if (met(value.text)) continue;
      rows += value.count;
      most = std::max(most, value.count);
      ++fresh;
    }
    const int64_t n = before().present(), known = std::ssize(step.categories) + std::ssize(step.rare_hashes);
    Asked& out = add(NovelOf::kValues, rows, now_.present());
    if (rows > 0) out.p = fresh_values_chance(most, fresh, known + fresh, n, now_.present());
    out.least = [=](int64_t count) { return fresh_values_chance(count, 1, known + 1, n, count); };
  }

  const ColumnStep& step_;
  const ColumnProfile& now_;
  std::vector<Asked> asked_;
};

// How many questions a column is asked.
size_t questions(const ColumnStep& step) {
  if (const auto* category = std::get_if<CategoryStep>(&step.how)) return knows_values(*category) ? 2 : 1;
  return std::holds_alternative<BooleanStep>(step.how) ? 2 : 3;
}

int64_t rows_needed(const Asked& asked, int64_t family, double alpha) {
  constexpr int64_t kMost = 1 << 20;
  const auto proves = [&](int64_t count) {
    return asked.least(count) * static_cast<double>(family) <= alpha;
  };
  if (!asked.least || asked.found.rows == 0 || proves(asked.found.of)) return 0;
  int64_t out = asked.found.of + 1;
  while (out < kMost && !proves(out)) ++out;
  return out;
}

}  // namespace

std::string why_not_asked(const ColumnStep& step) {
  if (!step.cells.known()) return "the model keeps no counts of its cells";
  const auto* category = std::get_if<CategoryStep>(&step.how);
  return category && !knows_values(*category) ? "its rare values are too many to be kept" : "";
}

double beyond_chance(int64_t beyond, int64_t before, int64_t now) {
  double out = 1;
  for (int64_t i = 0; i < beyond; ++i)
    out *= static_cast<double>(now - i) / static_cast<double>(before + now - i);
  return out;
}

double more_often_chance(int64_t kind_before, int64_t before, int64_t kind_now, int64_t now) {
  if (kind_before == 0) return beyond_chance(kind_now, before, now);
  const int64_t kind = kind_before + kind_now, others = before + now - kind;
  const double all = log_choose(before + now, now);
  double out = 0;
  for (int64_t k = std::max(kind_now, now - others); k <= std::min(now, kind); ++k)
    out += std::exp(log_choose(kind, k) + log_choose(others, now - k) - all);
  return std::min(1.0, out);
}

double fresh_values_chance(int64_t most, int64_t fresh, int64_t values, int64_t before, int64_t now) {
  const auto often = static_cast<double>(std::min(values, (before + now) / most));
  const double of_one = often * beyond_chance(most, before, now);
  const double of_many = more_often_chance(values - fresh, before, fresh, now);
  return std::min(1.0, 2 * std::min(of_one, of_many));
}

std::string text(const Novel& novel) {
  const std::string column = cat("column \"", novel.column, "\": ");
  const std::string rows = cat(column, novel.rows, " of ", novel.of);
  const bool one = novel.rows == 1;
  switch (novel.what) {
    case NovelOf::kForm:
      return cat(rows, one ? " cells is" : " cells are", " of another form than in the training rows");
    case NovelOf::kMissing:
      return cat(rows, one ? " cells is" : " cells are", " missing, more often than in the training rows");
    case NovelOf::kValues:
      return cat(rows, one ? " rows has" : " rows have", " a value that no training row has");
    case NovelOf::kRange:
      if (novel.dates)
        return cat(rows, one ? " dates lies" : " dates lie",
                   " farther from all training rows than these are apart");
      if (!novel.sure && novel.far_out > 0)
        return cat(column, novel.far_out, " of ", novel.of, novel.far_out == 1 ? " rows lies" : " rows lie",
                   " beyond all training rows by more than the whole range of these");
      return cat(column, novel.above, " of ", novel.of, " rows lie above and ", novel.below,
                 " below all training rows");
  }
  return column;
}

std::vector<Novel> find_novel(std::span<const ColumnStep> trained, const CsvTable& now,
                              std::span<const int64_t> rows, const NovelOptions& options,
                              std::vector<NotCompared>* left_out) {
  const std::vector<std::string>& names = options.names.empty() ? now.names() : options.names;
  std::vector<Asked> all;
  std::vector<double> p;
  for (const ColumnStep& step : trained) {
    const auto place = std::ranges::find(names, step.column);
    if (place == names.end()) continue;
    if (const std::string why = why_not_asked(step); !why.empty() && left_out)
      left_out->push_back({step.column, why});
    if (!step.cells.known()) continue;
    size_t at = p.size();
    p.resize(at + questions(step), 1);
    if (options.plain.contains(step.column)) continue;
    const ColumnProfile profile =
        profile_column(now, rows, place - names.begin(), options.missing.of(step.column));
    for (Asked& asked : NovelColumn(step, profile).asked()) {
      p[at] = asked.p;
      asked.place = at++;
      if (asked.found.rows > 0) all.push_back(std::move(asked));
    }
  }
  const std::vector<double> adjusted = holm(p);
  std::vector<Novel> out;
  for (Asked& asked : all) {
    Novel& found = asked.found;
    found.p = asked.p;
    found.adjusted_p = adjusted[asked.place];
    found.sure = found.adjusted_p <= options.alpha;
    // A column of one type has no cell of another: no chance of many questions explains one.
    if (found.what == NovelOf::kForm && asked.least) found.sure = found.p <= options.alpha;
    if (!found.sure) found.needed = rows_needed(asked, std::ssize(p), options.alpha);
    out.push_back(std::move(found));
  }
  return out;
}

std::vector<ColumnStep> trained_steps(const CsvTable& train, const MissingWords& missing,
                                      std::vector<NotCompared>& left_out) {
  const std::vector<int64_t> rows = all_rows(train);
  std::vector<ColumnStep> out;
  for (int64_t c = 0; c < train.columns(); ++c) {
    const std::string& name = train.names()[static_cast<size_t>(c)];
    const ColumnProfile profile = profile_column(train, rows, c, missing);
    if (profile.present() == 0) {
      left_out.push_back({name, "no training row holds a value", 0, 1});
      continue;
    }
    if (names_rows(name, profile)) {
      left_out.push_back({name, "it names the rows: no two are alike in it"});
      continue;
    }
    ColumnGuess guess = guess_column(name, false, true, profile);
    // What training would leave out as a constant is a number here: 0 and 0.0 are no two values.
    if (const auto form = form_of_all(profile); form && profile.different() == 1)
      guess = {.kind = ColumnKind::kNumeric, .numbers = *form};
    // And a table of one day goes on with the next.
    if (const auto style = date_style(name, profile)) guess = {.kind = ColumnKind::kDate, .dates = *style};
    out.push_back(fit_step(name, guess, profile, ColumnOptions{}.max_categories).step);
  }
  return out;
}

}  // namespace espalier
