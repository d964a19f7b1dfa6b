#include "cli/slice_flags.h"

#include <algorithm>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "espalier/error.h"
#include "evaluate/slice_columns.h"

namespace espalier::cli {
namespace {

// "a=b" as its two sides.
NamedPart sides(const std::string& text, const char* flag, const char* example) {
  std::optional<NamedPart> out = named_part(text);
  if (!out || out->name.empty())
    throw ValueError("evaluate.slice", cat(flag, " takes ", example, ", got \"", text, "\""));
  return *out;
}

// "name: expression" as both.
std::pair<std::string, Expression> named_condition(const std::string& text) {
  const std::optional<NamedPart> named = named_part(text, ':');
  const bool quoted = text.find_first_not_of(' ') == text.find_first_of("\"`");
  if (!named || named->name.empty() ||
      (!quoted && named->name.find_first_of("=*,\"'`<>()") != std::string::npos)) {
    throw ValueError("evaluate.slice",
                     cat("--slice-where takes NAME: EXPRESSION, as 'senior: age >= 60', got \"", text, "\""),
                     named && !named->name.empty()
                         ? cat("a name with such signs stands in quotes: ",
                               shell_words({cat(quoted_text(named->name), ":", named->rest)}))
                         : cat("--slice-where ", shell_words({cat("NAME: ", text)}),
                               ", with a name of a column that holds signs in backticks"));
  }
  return {named->name, Expression(named->rest)};
}

// The group as it is typed, where the name of a column of signs stands without its quotes: nothing of others.
std::optional<std::string> group_without_quotes(const std::string& text, const Assessment& assessment) {
  for (const SlicingFigures& by : assessment.by) {
    if (by.columns.size() == 1 && text.starts_with(cat(by.columns[0], "=")))
      return cat(by.name(), text.substr(by.columns[0].size()));
  }
  return std::nullopt;
}

// Names of groups are in their quotes already.
[[noreturn]] void throw_unknown_group(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kMostNamed = 100;
  std::string all, close;
  for (size_t i = 0; i < std::min(known.size(), kMostNamed); ++i) all += cat(i == 0 ? "" : ", ", known[i]);
  if (known.size() > kMostNamed) all += cat(" and ", known.size() - kMostNamed, " more");
  for (const std::string& each : nearest(name, known))
    close += cat(close.empty() ? "did you mean " : " or ", shell_words({each}));
  throw ValueError("evaluate.reference", cat("unknown group ", name, ": known are ", all),
                   close.empty() ? "" : close + "?");
}

CLI::Option* add_slice_words(CLI::App& verb, const char* name, std::vector<std::string>& into,
                             const char* help) {
  return verb
      .add_option_function<std::vector<std::string>>(
          name, [&into](const std::vector<std::string>& given) { into = comma_separated(given); }, help)
      ->allow_extra_args(false);
}

}  // namespace

void SliceFlags::add(CLI::App& verb) {
  add_slices(verb);
  verb.add_option("--reference-group", references,
                  "Compare the other groups of a column with this group, e.g. sex=Male (default: compare the "
                  "group of the lowest value with that of the highest); repeat for more columns")
      ->allow_extra_args(false)
      ->option_text("COLUMN=VALUE");
  add_slice_words(
      verb, "--metric", metrics,
      "Metrics to report per slice, with intervals, instead of the default metrics; comma-separated")
      ->option_text("NAME,...");
}

void SliceFlags::add_slices(CLI::App& verb) {
  add_slice_words(verb, "--slice", slices, "Columns to slice by, comma-separated: one slice per value")
      ->option_text("COLUMN,...");
  verb.add_option_function<std::vector<std::string>>(
          "--cross",
          [this](const std::vector<std::string>& given) {
            crosses.clear();
            for (const std::string& text : given) {
              for (const std::string& cross : listed_parts(text))
                crosses.push_back(cross_of(factors_of(cross)));
            }
          },
          "Columns to slice by in combination, e.g. sex*race: one slice per combination of values")
      ->allow_extra_args(false)
      ->option_text("A*B,...");
  verb.add_option(
          "--bucket", buckets,
          "Edges that split a numeric column into buckets (an edge belongs to the bucket above it), or "
          "monk (10 groups) or monk3 (3 groups) for Monk skin tones; repeat for more columns")
      ->allow_extra_args(false)
      ->option_text("COLUMN=18,25,45");
  verb.add_option_function<std::vector<std::string>>(
          "--slice-where",
          [this](const std::vector<std::string>& given) {
            conditions.clear();
            for (const std::string& text : given) {
              auto [name, condition] = named_condition(text);
              if (!conditions.emplace(name, condition).second)
                throw ValueError("evaluate.slice", cat("--slice-where \"", name, "\" is given twice"));
            }
          },
          "Slice by a condition into yes and no, e.g. 'senior: age >= 60'; --slice and --cross accept NAME; "
          "repeat for more conditions")
      ->allow_extra_args(false)
      ->option_text("NAME:EXPRESSION");
  verb.add_option("--min-slice", min_rows,
                  "Grey out slices with fewer than N rows, and leave them out of the gaps")
      ->check(number_from(int64_t{0}, int64_t{1} << 40))
      ->option_text("N [30]");
  verb.add_option("--missing-group", missing,
                  "Rows without a value in a slicing column: slice puts them in a slice of their own, "
                  "leave-out in no slice")
      ->check(one_of_words({"slice", "leave-out"}))
      ->option_text("slice|leave-out [slice]");
  verb.add_option("--at-threshold", positive_from,
                  "In slices and with --scores, the class of a score equal to the threshold: from = "
                  "positive, above = "
                  "negative (as in TensorFlow Model Analysis, TFMA)")
      ->check(one_of_words({"from", "above"}))
      ->option_text("from|above [from]");
}

std::vector<std::string> SliceFlags::words() const {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, const std::vector<std::string>& values, bool joined) {
    std::string text;
    for (const std::string& value : values) {
      if (!joined) out.insert(out.end(), {flag, value});
      text += cat(text.empty() ? "" : ",", value);
    }
    if (joined && !values.empty()) out.insert(out.end(), {flag, text});
  };
  std::vector<std::string> listed;
  for (const std::string& name : slices) listed.push_back(name_in_list(name));
  add("--slice", listed, true);
  add("--cross", crosses, true);
  add("--bucket", buckets, false);
  for (const std::string& word : condition_words()) out.push_back(word);
  add("--reference-group", references, false);
  if (min_rows != SliceFlags().min_rows) out.insert(out.end(), {"--min-slice", cat(min_rows)});
  if (missing != "slice") out.insert(out.end(), {"--missing-group", missing});
  if (positive_from != "from") out.insert(out.end(), {"--at-threshold", positive_from});
  return out;
}

std::vector<std::string> SliceFlags::condition_words() const {
  std::vector<std::string> out;
  for (const auto& [name, condition] : conditions)
    out.insert(out.end(), {"--slice-where", cat(name_in_list(name), ":", condition.text())});
  return out;
}

std::map<std::string, Buckets> SliceFlags::parted() const {
  std::map<std::string, Buckets> out;
  for (const std::string& text : buckets) {
    const auto [column, parts] = sides(text, "--bucket", "COLUMN=EDGE,EDGE");
    if (!out.emplace(column, read_buckets(parts, "--bucket")).second)
      throw ValueError("evaluate.bucket", cat("--bucket of column \"", column, "\" is given twice"));
  }
  return out;
}

namespace {

std::map<std::string, Buckets> known_buckets(const SliceFlags& flags) {
  std::map<std::string, Buckets> out = flags.parted();
  out.insert(flags.usual_buckets.begin(), flags.usual_buckets.end());
  return out;
}

// Of all columns that the flags name, which `columns` then holds.
std::vector<std::string> unread_in(const SliceFlags& flags, SliceColumns& columns) {
  for (const auto& [name, parts] : flags.parted()) columns.named(name);
  for (const std::string& name : flags.slices) columns.named(name);
  for (const std::string& cross : flags.crosses) columns.by(cross);
  return columns.notes();
}

}  // namespace

void SliceFlags::with_slicings(const ScoredTable& scored, const MissingWords& missing_words,
                               const UseSlicings& use) const {
  const std::map<std::string, Buckets> asked = parted(), known = known_buckets(*this);
  SliceColumns columns(scored.table, scored.rows, missing_words, known, conditions);
  std::vector<std::vector<const CategoryColumn*>> slicings;
  const auto add = [&](const std::vector<const CategoryColumn*>& by) {
    if (std::ranges::find(slicings, by) == slicings.end()) slicings.push_back(by);
  };
  for (const std::string& name : slices) add({columns.named(name)});
  for (const std::string& cross : crosses) add(columns.by(cross));
  const auto add_unless_used = [&](const std::string& name) {
    const CategoryColumn* one = columns.named(name);
    const auto uses = [&](const auto& by) { return std::ranges::find(by, one) != by.end(); };
    if (std::ranges::none_of(slicings, uses)) add({one});
  };
  for (const auto& [column, parts] : asked) add_unless_used(column);
  for (const auto& [name, condition] : conditions) add_unless_used(name);
  use(slicings,
      {.missing = missing == "slice" ? MissingGroup::kSlice : MissingGroup::kLeftOut, .min_rows = min_rows});
}

std::vector<std::string> SliceFlags::unread(const ScoredTable& scored,
                                            const MissingWords& missing_words) const {
  const std::map<std::string, Buckets> known = known_buckets(*this);
  SliceColumns columns(scored.table, scored.rows, missing_words, known, conditions);
  return unread_in(*this, columns);
}

std::vector<std::string> SliceFlags::advice(const ScoredTable& scored,
                                            const MissingWords& missing_words) const {
  const std::map<std::string, Buckets> known = known_buckets(*this);
  SliceColumns columns(scored.table, scored.rows, missing_words, known, conditions);
  std::vector<std::string> names = slices, out = unread_in(*this, columns);
  for (const std::string& cross : crosses) std::ranges::copy(factors_of(cross), std::back_inserter(names));
  for (const std::string& name : names) {
    const std::string said = columns.advice(name);
    if (!said.empty() && std::ranges::find(out, said) == out.end()) out.push_back(said);
  }
  return out;
}

Assessment SliceFlags::assess(const ScoredTable& scored, const MissingWords& missing_words,
                              AssessmentOptions options) const {
  if (!thresholds.empty()) options.thresholds = thresholds;
  options.backgrounds = std::ranges::count(metrics, "bpsn_auc") + std::ranges::count(metrics, "bnsp_auc") > 0;
  options.positive = positive_from == "from" ? Positive::kFrom : Positive::kAbove;
  Assessment out;
  with_slicings(scored, missing_words, [&](const auto& slicings, const SliceOptions& slice_options) {
    options.slices = slice_options;
    out = scored.assess(slicings, options);
  });
  return out;
}

std::map<std::string, size_t> SliceFlags::reference_groups(const Assessment& assessment) const {
  std::map<std::string, size_t> out;
  for (const std::string& text : references) {
    const std::string column = sides(text, "--reference-group", "COLUMN=VALUE").name;
    const std::string name = slice_named(text);
    const auto by = std::ranges::find(assessment.by, cross_of({column}), &SlicingFigures::name);
    if (by == assessment.by.end()) {
      const std::optional<std::string> typed = group_without_quotes(text, assessment);
      throw ValueError("evaluate.reference",
                       cat("--reference-group ", text, ": the rows are not parted by \"", column, "\""),
                       typed ? cat("--reference-group ", shell_words({*typed}))
                             : cat("add --slice ", shell_words({name_in_list(column)})));
    }
    std::vector<std::string> known;
    for (const SliceFigures& slice : by->slices) known.push_back(slice.slice.name);
    auto group = std::ranges::find(known, name);
    if (group == known.end()) group = std::ranges::find(known, with_plain_numbers(name));
    if (group == known.end()) throw_unknown_group(name, known);
    out[by->name()] = static_cast<size_t>(group - known.begin());
  }
  return out;
}

}  // namespace espalier::cli
