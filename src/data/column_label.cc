#include "data/column_label.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_fit.h"
#include "data/column_guess.h"
#include "data/missing_code.h"
#include "data/missing_labels.h"
#include "data/positive_class.h"
#include "format/csv_scan.h"

namespace espalier {
namespace {

constexpr int64_t kMostNumberClasses = 20;
// Prices and the like.
constexpr double kSkewedLabel = 3;

[[noreturn]] void refuse(std::string_view message, std::string_view fix = {}) {
  throw ValueError("columns.label", message, fix);
}

// The first training row whose label does not `hold`. REQUIRES: there is one.
template <class F>
int64_t row_without(const CsvTable& table, std::span<const int64_t> rows, int64_t column, F holds) {
  return *std::ranges::find_if(rows, [&](int64_t row) { return !holds(table.cell(row, column)); });
}

// Of a class (1) is a name.
std::optional<double> class_number(std::string_view text) {
  return text.find('(') == text.npos ? read_number(text, NumberStyle::kPlain) : std::nullopt;
}

// Numbers by their size, other texts by their characters.
void sort_classes(std::vector<std::string>& classes) {
  const bool numbers = std::all_of(classes.begin(), classes.end(),
                                   [](const std::string& text) { return class_number(text).has_value(); });
  std::sort(classes.begin(), classes.end(), [&](const std::string& a, const std::string& b) {
    return numbers && *class_number(a) != *class_number(b) ? *class_number(a) < *class_number(b) : a < b;
  });
}

void note_classes(FittedLabel& label, bool guessed) {
  constexpr size_t kShown = 8, kNamed = 3;
  constexpr int64_t kFew = 5;  // as many times fewer rows than if all classes had the same
  std::vector<int64_t> counts(label.step.classes.size());
  for (const int32_t c : label.classes) ++counts[static_cast<size_t>(c)];
  const auto rows = static_cast<int64_t>(label.classes.size());
  std::string text = cat("the label, ", counts.size(), " classes: ");
  for (size_t c = 0; c < std::min(counts.size(), kShown); ++c)
    text += cat(c ? ", " : "", label.step.classes[c], " (", share_of_rows(counts[c], rows), ")");
  if (counts.size() > kShown) text += ", ...";
  if (guessed && label.step.whole_numbers && counts.size() > 2)
    text += "; as a number: --task number, in C++ ColumnTask::kRegression";
  label.notes.push_back({label.step.column, text});
  std::vector<size_t> rare;
  for (size_t c = 0; c < counts.size(); ++c) {
    if (kFew * counts[c] * static_cast<int64_t>(counts.size()) < rows) rare.push_back(c);
  }
  if (rare.empty()) return;
  std::stable_sort(rare.begin(), rare.end(), [&](size_t a, size_t b) { return counts[a] < counts[b]; });
  text = rare.size() == 1 ? "class " : cat(rare.size(), " classes have few rows: ");
  for (size_t i = 0; i < std::min(rare.size(), kNamed); ++i) {
    text += cat(i ? ", " : "", label.step.classes[rare[i]], rare.size() == 1 ? " has few rows" : "", " (",
                100 * counts[rare[0]] < rows ? cat(counts[rare[i]], counts[rare[i]] == 1 ? " row" : " rows")
                                             : share_of_rows(counts[rare[i]], rows),
                ")");
  }
  label.notes.push_back({label.step.column,
                         cat(text, rare.size() > kNamed ? ", ..." : "", ": accuracy alone says little about ",
                             rare.size() == 1 ? "it" : "them"),
                         true});
}

// Yes, yes, YES.
void note_spellings(FittedLabel& label) {
  const std::vector<std::string>& classes = label.step.classes;
  for (const auto& [first, other] : same_spellings({classes.begin(), classes.end()})) {
    label.notes.push_back({label.step.column,
                           cat("classes ", first, " and ", other, " differ in ",
                               spelling_difference(first, other), " alone: are they one? (--merge-labels)"),
                           true});
  }
  // Beside another class nobody knows what a 1 stands for.
  for (size_t a = 0; a < classes.size(); ++a) {
    for (size_t b = a + 1; b < classes.size(); ++b) {
      if (!same_label(classes[a], classes[b]) || class_number(classes[a]) == class_number(classes[b]))
        continue;
      label.notes.push_back({label.step.column,
                             cat("classes ", classes[a], " and ", classes[b],
                                 " say the same where a table has them alone: are they one?"),
                             true});
    }
  }
}

// Whether texts are 0, 1, true and false, in both ways of writing, and nothing else.
bool are_truths(const std::map<std::string, int64_t>& counts) {
  return counts.size() > 2 && std::ranges::all_of(counts, [](const auto& one) {
           return same_label(one.first, "1") || same_label(one.first, "0");
         });
}

// The classes of texts that stand so often in the column: of those with one key the most frequent.
void choose_classes(FittedLabel& label, const std::map<std::string, int64_t>& counts) {
  std::map<std::string, std::vector<std::pair<std::string, int64_t>>> spellings;
  const bool truths = are_truths(counts);
  for (const auto& [text, count] : counts) {
    const std::string key = truths ? (same_label(text, "1") ? "1" : "0") : label.step.class_key(text);
    spellings[key].emplace_back(text, count);
  }
  for (auto& [key, texts] : spellings) {
    std::stable_sort(texts.begin(), texts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    label.step.classes.push_back(texts[0].first);
    if (texts.size() == 1) continue;
    std::string others;
    for (size_t i = 1; i < texts.size(); ++i)
      others += cat(i == 1 ? "" : i + 1 == texts.size() ? " and " : ", ", texts[i].first);
    label.notes.push_back({label.step.column, cat("class ", texts[0].first, " is also written ", others)});
  }
}

// `of_missing`: what makes a class of rows without a label, or "".
void fit_classes(FittedLabel& label, const ColumnProfile& profile, bool guessed,
                 const std::string& of_missing) {
  label.step.classification = true;
  label.step.whole_numbers = profile.count([&](std::string_view text) {
    return class_number(text) && is_whole(text, NumberStyle::kPlain) && !has_leading_zero(text);
  }) == profile.rows();
  std::map<std::string, int64_t> counts;
  for (const ColumnProfile::Value& value : profile.values)
    counts[label.step.class_text(value.text)] += value.count;
  choose_classes(label, counts);
  if (label.step.classes.size() < 2) {
    refuse(cat("label \"", label.step.column, "\": all ", profile.rows(), " training rows are \"",
               label.step.classes[0], "\", so there is nothing to tell apart"),
           of_missing);
  }
  sort_classes(label.step.classes);
  label.step.prepare();
  std::vector<int32_t> of_value;
  for (const ColumnProfile::Value& value : profile.values)
    of_value.push_back(*label.step.class_of(value.text));
  for (const uint32_t code : profile.codes) label.classes.push_back(of_value[code]);
  note_classes(label, guessed);
  note_spellings(label);
}

void fit_numbers(FittedLabel& label, const ColumnProfile& profile) {
  label.step.classification = false;
  const WeightedNumbers numbers = numbers_of(profile, label.step.form);
  if (numbers.least() == numbers.most()) {
    refuse(cat("label \"", label.step.column, "\": all ", profile.rows(), " training rows are ",
               short_number(numbers.least()), ", so there is nothing to learn"));
  }
  label.step.log = numbers.least() > 0 && wants_logarithm(numbers, 0, kSkewedLabel);
  const NumberMoments moments = moments_of(numbers, label.step.log);
  label.step.mean = moments.mean;
  label.step.least = numbers.least();
  label.step.most = numbers.most();
  label.step.scale = moments.deviation > 0 ? moments.deviation : 1;
  std::vector<double> of_value;
  for (const ColumnProfile::Value& value : profile.values)
    of_value.push_back(*read_number(value.text, label.step.form));
  for (const uint32_t code : profile.codes) label.numbers.push_back(of_value[code]);
  label.notes.push_back(
      {label.step.column,
       cat("the label, a number from ", short_number(numbers.least()), " to ", short_number(numbers.most()),
           label.step.form.unit.empty() ? "" : cat(" in ", label.step.form.unit),
           label.step.log ? ", learned as its logarithm" : "")});
  const std::string mix = unit_mix(profile, {label.step.form, numbers.count});
  if (!label.step.form.unit.empty() && !mix.empty())
    label.notes.push_back({label.step.column, read_alike(mix, label.step.form), true});
  if (const auto codes = find_missing_codes(profile, label.step.form))
    label.notes.push_back({label.step.column, text(*codes), true});
}

}  // namespace

std::string LabelStep::prepare() {
  places.clear();
  if (!classification)
    return scale <= 0 ? "scale must be positive" : least > most ? "least is above most" : "";
  if (classes.size() < 2) return "fewer than two classes";
  for (const std::string& text : classes) {
    if (!places.emplace(class_key(text), static_cast<int32_t>(places.size())).second)
      return cat("class \"", text, "\" stands there twice");
  }
  return {};
}

std::string LabelStep::class_text(std::string_view text) const {
  while (merge && !text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (merge && !text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (strip_dots && text.size() > 1 && text.ends_with('.')) text.remove_suffix(1);
  if (whole_numbers && class_number(text) && is_whole(text, NumberStyle::kPlain)) {
    // Every digit: two identifiers beyond 2^53 may have one f64. Beyond 21 digits they stay as they are.
    const std::optional<std::string> number = exact_number(text, NumberStyle::kPlain);
    if (number && number->find('e') == number->npos) return *number;
  }
  return std::string(text);
}

std::string LabelStep::class_key(const std::string& text) const { return merge ? spelling_key(text) : text; }

std::optional<int32_t> LabelStep::class_of(std::string_view text) const {
  const std::string own = class_text(text);
  if (const auto found = places.find(class_key(own)); found != places.end()) return found->second;
  // Other tables write true and false of 1 and 0.
  if (classes.size() != 2 || !positive_of_pair(classes[0], classes[1])) return std::nullopt;
  for (const int32_t place : {0, 1}) {
    if (same_label(classes[static_cast<size_t>(place)], own)) return place;
  }
  return std::nullopt;
}

std::optional<double> LabelStep::scaled(std::string_view text) const {
  const std::optional<double> value = read_number(text, form);
  if (!value) return std::nullopt;
  return ((log ? std::copysign(std::log1p(std::fabs(*value)), *value) : *value) - mean) / scale;
}

double LabelStep::unscaled(double output) const {
  const double value = output * scale + mean;
  return log ? std::copysign(std::expm1(std::fabs(value)), value) : value;
}

FittedLabel fit_label(const CsvTable& table, std::span<const int64_t> rows, const ColumnOptions& options,
                      const MissingWords& missing) {
  const int64_t column = table.column(options.label);
  const ColumnProfile profile = profile_column(table, rows, column, missing);
  const std::string what = cat("label \"", options.label, "\"");
  if (profile.missing) {
    const int64_t row = row_without(table, rows, column, [&](std::string_view text) {
      return !missing.of(options.label).contains(text);
    });
    refuse(cat(what, " is missing in ", profile.missing, " of ", profile.rows(),
               " training rows, first in line ", table.line(row)),
           "train on labelled_rows(table, options)");
  }
  FittedLabel label;
  label.step.column = options.label;
  label.step.strip_dots = options.strip_label_dots;
  label.step.merge = options.merge_labels;
  const FormCount numbers = number_form(profile);
  label.step.form = numbers.form;
  const bool all_numbers = numbers.cells == profile.rows();
  const int64_t different = profile.different();
  bool classes = options.task == ColumnTask::kClassification;
  if (options.task == ColumnTask::kGuess) {
    const bool few = different == 2 || (different <= kMostNumberClasses && different * 5 <= profile.rows());
    const bool whole =
        profile.count([&](std::string_view text) { return is_whole(text, numbers.form); }) == profile.rows();
    const bool mostly_numbers = 20 * numbers.cells >= 19 * profile.rows() && different > kMostNumberClasses;
    classes = all_numbers ? (whole && few) || holds_codes(profile) : !mostly_numbers;
  }
  if (classes && options.task == ColumnTask::kGuess && different > kMostNumberClasses &&
      date_style(options.label, profile)) {
    refuse(cat(what, " is a date, and as classes its ", different, " days say nothing of others"),
           "learn another column, as the number of days from one date to another; --task class, in C++ "
           "ColumnTask::kClassification, takes it as it is");
  }
  if (classes && different > kMostNumberClasses && 2 * different > profile.rows()) {
    refuse(cat(what, " has ", different, all_numbers ? " different numbers in " : " different texts in ",
               profile.rows(), " training rows: too many to learn as classes"),
           all_numbers ? "learn it as a number: --task number, in C++ ColumnTask::kRegression"
                       : "learn another column, or one that groups these texts");
  }
  if (classes) {
    fit_classes(label, profile, options.task == ColumnTask::kGuess, missing_labels(table, column, missing));
  } else if (all_numbers) {
    fit_numbers(label, profile);
  } else {
    const int64_t row = row_without(table, rows, column,
                                    [&](std::string_view text) { return read_number(text, numbers.form); });
    const bool none = numbers.cells == 0;
    refuse(cat(what, " is a number in ", numbers.cells, " of ", profile.rows(),
               " training rows, but not in line ", table.line(row), ", \"",
               shortened(table.cell(row, column)), "\""),
           none ? "learn it as a class: --task class, in C++ ColumnTask::kClassification"
                : "correct the cell, or name it among the words that mean a missing one: --missing, in C++ "
                  "ColumnOptions::missing");
  }
  return label;
}

}  // namespace espalier
