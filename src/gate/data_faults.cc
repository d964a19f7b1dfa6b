#include "gate/data_faults.h"

#include <algorithm>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_fit.h"
#include "data/column_guess.h"
#include "data/missing_code.h"
#include "data/missing_labels.h"
#include "evaluate/drift.h"
#include "evaluate/envelope.h"
#include "fairness/data_bias.h"
#include "fairness/rare_slices.h"
#include "gate/schema_faults.h"
#include "validate/leaks.h"
#include "validate/schema_parts.h"

namespace espalier {
namespace {

class Faults {
 public:
  Faults(const CsvTable& train, const CsvTable* now, const DataFaultOptions& options)
      : train_(train), now_(now), options_(options) {
    if (options.schema) options_.missing = with_domains(options.missing, *options.schema);
    const std::vector<int64_t> rows = all_rows(train);
    for (int64_t c = 0; c < train.columns(); ++c)
      profiles_.push_back(profile_column(train, rows, c, options_.missing));
  }

  DataAnswer run() {
    if (now_) schema();
    if (now_) unreadable();
    leaks();
    std::ranges::move(range_, std::back_inserter(found_));
    if (now_) drift();
    groups();
    names();
    cells();
    std::ranges::stable_partition(found_, &DataFault::warning);
    return {std::move(found_), std::move(not_judged_)};
  }

 private:
  void add(FaultOf of, const std::string& column, std::string text, bool warning = true) {
    const bool of_values = of == FaultOf::kRange || of == FaultOf::kDrift;
    if (of_values && options_.ignored.contains(column)) return;
    found_.push_back({of, warning, column, std::move(text)});
  }

  bool meets(const std::string& name) const {
    return std::ranges::find(now_->names(), name) != now_->names().end();
  }
  void not_judged(FaultOf of, NotCompared what, bool undecided = true) {
    // Flags that were not given are ignored columns without a name.
    if (what.column.empty() || !options_.ignored.contains(what.column))
      not_judged_.push_back({of, std::move(what), undecided});
  }
  // Of a column that is told to be looked at.
  bool matters(const std::string& name) const {
    return options_.read.contains(name) ||
           (options_.schema && std::ranges::any_of(options_.schema->feature(), [&](const auto& feature) {
              return feature.name() == name;
            }));
  }

  // A schema of one's own says what is allowed, from the first row on. What trains does not: of its columns
  // only that counts which chance does not explain.
  void schema() {
    if (options_.schema)
      found_ = find_schema_faults(train_, *now_, options_, not_judged_);
    else
      columns();
    std::set<std::string> said;
    for (const DataFault& fault : found_) said.insert(fault.column);
    novel(said);
  }
  void columns() {
    if (now_->rows() == 0) add(FaultOf::kSchema, "", "there are no rows");
    const auto lacks = [&](const CsvTable& from, const CsvTable& other, const char* what) {
      for (const std::string& name : from.names()) {
        if (!std::ranges::count(other.names(), name) && !options_.ignored.contains(name))
          add(FaultOf::kSchema, name, cat("column \"", name, "\": ", what));
      }
    };
    lacks(train_, *now_, "column dropped");
    lacks(*now_, train_, "new column");
  }
  // The columns that a model reads are checked by themselves, from what it keeps of them, as `predict` does:
  // how many others a table has changes nothing there.
  void novel(const std::set<std::string>& said) {
    std::vector<NotCompared> left_out;
    std::vector<ColumnStep> read, others;
    std::set<std::string> kept;
    for (const ColumnStep& step : options_.steps) {
      if (!meets(step.column) || !step.cells.known()) continue;
      kept.insert(step.column);
      read.push_back(step);
    }
    for (ColumnStep& step : trained_steps(train_, options_.missing, left_out)) {
      if (!kept.contains(step.column))
        (options_.read.contains(step.column) ? read : others).push_back(std::move(step));
    }
    const auto named = [&](const std::string& column) {
      return std::ranges::count(left_out, column, &NotCompared::column) > 0;
    };
    for (const std::vector<ColumnStep>* steps : {&read, &others}) {
      for (const ColumnStep& step : *steps) {
        const bool by_values = std::holds_alternative<CategoryStep>(step.how);
        if (why_not_asked(step).empty() && !(by_values && named(step.column))) judged_.insert(step.column);
      }
    }
    novel(read, said);
    novel(others, said);
    for (NotCompared& column : left_out) {
      const bool undecided = matters(column.column) && !judged_.contains(column.column);
      if (meets(column.column)) not_judged(FaultOf::kRange, std::move(column), undecided);
    }
  }
  void novel(const std::vector<ColumnStep>& trained, const std::set<std::string>& said) {
    std::vector<NotCompared> left_out;
    const NovelOptions options{.alpha = options_.alpha / 2, .missing = options_.missing};
    for (const Novel& each : find_novel(trained, *now_, all_rows(*now_), options, &left_out)) {
      const bool range = each.what == NovelOf::kRange;
      // Of values and missing cells a schema has the say; what it found is said.
      if (!range && (said.contains(each.column) || (options_.schema && each.what != NovelOf::kForm)))
        continue;
      if (options_.ignored.contains(each.column)) continue;
      const FaultOf of = range ? FaultOf::kRange : FaultOf::kSchema;
      const bool unusual_values = each.what == NovelOf::kValues && each.p < 1;
      if (each.needed > 0)
        not_judged(of, {each.column, cat(text(each), "; ", each.of, " checked, ", each.needed, " needed"),
                        each.of, each.needed});
      else if (each.sure || each.far_out > 0 || each.what == NovelOf::kForm || unusual_values)
        (range ? range_ : found_).push_back({of, each.sure, each.column, text(each)});
    }
    if (options_.schema) return;
    for (NotCompared& column : left_out) {
      const bool undecided = matters(column.column);
      not_judged(FaultOf::kSchema, std::move(column), undecided);
    }
  }

  // Where no cell is a number, or a date, nothing lies within a range.
  void unreadable() {
    const std::vector<int64_t> rows = all_rows(*now_);
    for (size_t c = 0; c < profiles_.size(); ++c) {
      const std::string& name = train_.names()[c];
      if (!meets(name) || profiles_[c].present() == 0) continue;
      const ColumnGuess guess = guess_column(name, false, true, profiles_[c]);
      if (guess.kind != ColumnKind::kNumeric && guess.kind != ColumnKind::kDate) continue;
      const ColumnProfile now = profile_column(*now_, rows, now_->column(name), options_.missing);
      const ColumnStep step = fit_step(name, guess, profiles_[c], ColumnOptions{}.max_categories).step;
      const auto* numbers = std::get_if<NumericStep>(&step.how);
      const int64_t read = now.count([&](std::string_view cell) {
        return numbers ? numbers->value_of(cell).has_value() : read_date(cell, guess.dates).has_value();
      });
      if (read == 0) not_judged(FaultOf::kRange, too_few(name, 0, 1, "value"), matters(name));
    }
  }

  void leaks() {
    // Rows that lack a column cannot be held against training rows.
    const bool whole = now_ && std::ranges::all_of(train_.names(), [&](const std::string& name) {
                         return name == options_.label || meets(name);
                       });
    if (train_.rows() < kRowsForLeaks)
      not_judged(FaultOf::kLeak, too_few("", train_.rows(), kRowsForLeaks, "row"));
    if (now_ && !whole)
      not_judged(FaultOf::kLeak,
                 {"", "the new rows lack a column, and are not held against the training rows", {}, {}},
                 false);
    for (const LeakFinding& found :
         find_leaks(train_, whole ? now_ : nullptr,
                    {.label = options_.label, .time = options_.time, .missing = options_.missing}))
      leak(found);
  }
  void leak(const LeakFinding& found) {
    const bool of_column = found.kind == LeakKind::kLabel || found.kind == LeakKind::kFutureColumn;
    const bool unread = of_column && options_.unread.contains(found.column);
    add(FaultOf::kLeak, found.column, cat(found.text, unread ? "; the model does not read it" : ""),
        found.warning && !unread);
  }

  void drift() {
    std::vector<NotCompared> passed_over;
    for (ColumnDrift& drift : find_drift(
             train_, *now_, {.alpha = options_.alpha / 2, .missing = options_.missing}, &passed_over)) {
      if (!drift.drifted) continue;
      const double rows = std::max(drift.share_before * static_cast<double>(drift.rows_before),
                                   drift.share_now * static_cast<double>(drift.rows_now));
      if (drift.of == DriftOf::kValues && rows < static_cast<double>(options_.k)) drift.value = "(rare)";
      add(FaultOf::kDrift, drift.column, text(drift));
    }
    for (NotCompared& each : passed_over) {
      // Of dates novel() has asked for form and span: whoever names none of them has an answer.
      const bool judged = !each.needed && judged_.contains(each.column);
      const bool undecided = each.column.empty() || (matters(each.column) && !judged);
      not_judged(FaultOf::kDrift, std::move(each), undecided);
    }
  }

  void groups() {
    if (options_.groups.empty())
      return not_judged(FaultOf::kGroups, {"", "no column says which group a row is of", {}, {}}, false);
    groups(train_, "");
    too_few_of(train_);
    if (!now_) return;
    const auto lacking =
        std::ranges::find_if(options_.groups, [&](const auto& name) { return !meets(name); });
    if (lacking != options_.groups.end())
      return not_judged(FaultOf::kGroups, {*lacking, "the new rows have no such column", {}, {}});
    groups(*now_, " of the new rows");
    too_few_of(*now_);
  }
  void too_few_of(const CsvTable& table) {
    if (table.rows() < kRowsForDrift)
      not_judged(FaultOf::kGroups, too_few("", table.rows(), kRowsForDrift, "row"));
  }
  void groups(const CsvTable& table, const char* whose) {
    const DataBias bias = data_bias(table, {.columns = options_.groups, .missing = options_.missing});
    for (const ColumnBias& column : bias.columns) {
      for (const MissingGap& gap : column.missing)
        add(FaultOf::kGroups, gap.column, cat(text(gap, column.column), whose));
    }
  }

  void names() {
    for (size_t c = 0; c < profiles_.size(); ++c) {
      const std::string& name = train_.names()[c];
      if (name == options_.label || !names_rows(name, profiles_[c])) continue;
      add(FaultOf::kNames, name, cat("column \"", name, "\" names the rows: no two are alike in it"), false);
    }
  }

  void cells() {
    missing_label_words();
    for (size_t c = 0; c < profiles_.size(); ++c) {
      if (!units(train_.names()[c], profiles_[c]) && !dates(train_.names()[c], profiles_[c]))
        words_among_numbers(train_.names()[c], profiles_[c]);
      spellings(train_.names()[c], profiles_[c]);
      missing_codes(train_.names()[c], profiles_[c]);
    }
  }
  // Whether numbers of the column have a unit in many cells and none in others.
  bool units(const std::string& name, const ColumnProfile& profile) {
    const std::string mix = unit_mix(profile, number_form(profile), false);
    if (!mix.empty())
      add(FaultOf::kCells, name, cat("column \"", name, "\" has ", mix, ": write them alike"), false);
    return !mix.empty();
  }
  // Rows without a label are left out of all questions of it, and of training.
  void missing_label_words() {
    if (options_.label.empty() || !std::ranges::count(train_.names(), options_.label)) return;
    const std::string found = missing_labels(train_, train_.column(options_.label), options_.missing);
    if (!found.empty())
      add(FaultOf::kCells, options_.label, cat("column \"", options_.label, "\": ", found), false);
  }
  void missing_codes(const std::string& name, const ColumnProfile& profile) {
    const ColumnGuess guess = guess_column(name, false, true, profile);
    if (guess.kind != ColumnKind::kNumeric) return;
    const auto codes = find_missing_codes(profile, guess.numbers);
    if (codes && codes->fewest >= options_.k)
      add(FaultOf::kCells, name, cat("column \"", name, "\": ", text(*codes, false)), false);
  }
  void words_among_numbers(const std::string& name, const ColumnProfile& profile) {
    const FormCount numbers = number_form(profile);
    const int64_t words = profile.present() - numbers.cells;
    if (words == 0 || 2 * numbers.cells < profile.present() || holds_codes(profile)) return;
    if (date_style(name, profile)) return;
    among(name, profile, "numbers", words,
          [&](std::string_view text) { return read_number(text, numbers.form).has_value(); });
  }
  // Whether so many cells of the column are dates that nobody asks it for numbers.
  bool dates(const std::string& name, const ColumnProfile& profile) {
    const DateCount dates = most_dates(profile);
    if (dates.cells == 0 || 2 * dates.cells < profile.present()) return false;
    if (!nearly_all(dates.cells, profile.present()) && 2 * number_form(profile).cells >= profile.present())
      return false;
    if (const std::string mix = date_mix(profile, dates.style, false); !mix.empty())
      add(FaultOf::kCells, name, cat("column \"", name, "\" has ", mix), false);
    if (const int64_t others = profile.present() - dates.cells; others > 0)
      among(name, profile, "dates", others,
            [&](std::string_view text) { return read_date(text, dates.style).has_value(); });
    return true;
  }
  // Of `what` are all cells but `others`.
  template <class Reads>
  void among(const std::string& name, const ColumnProfile& profile, const char* what, int64_t others,
             const Reads& reads) {
    const ColumnProfile::Value* most = nullptr;
    for (const ColumnProfile::Value& value : profile.values) {
      if (!reads(value.text) && (!most || value.count > most->count)) most = &value;
    }
    const bool named = most->count >= options_.k;
    add(FaultOf::kCells, name,
        cat("column \"", name, "\" is of ", what, " but for ", counted(others, "cell"),
            named ? cat(", most often \"", shortened(most->text), "\"") : "",
            "; what means no value is named as missing (--missing)"),
        false);
  }
  // Of columns whose values come again.
  void spellings(const std::string& name, const ColumnProfile& profile) {
    if (2 * profile.different() > profile.present()) return;
    const auto same = same_spellings(profile.texts());
    if (same.empty()) return;
    add(FaultOf::kCells, name,
        cat("column \"", name, "\": ", counted(std::ssize(same), "value"),
            same.size() == 1 ? " differs" : " differ", " from others in ",
            spelling_difference(same[0].first, same[0].second), " alone",
            name == options_.label ? " (--merge-labels)" : ""),
        false);
  }

  const CsvTable& train_;
  const CsvTable* now_;
  DataFaultOptions options_;
  std::vector<ColumnProfile> profiles_;  // of the training rows
  std::vector<DataFault> found_, range_;
  std::vector<NotJudged> not_judged_;
  std::set<std::string> judged_;  // columns whose range, form or values were asked
};

}  // namespace

const NotJudged* DataAnswer::undecided() const {
  const auto found = std::ranges::find_if(not_compared, &NotJudged::undecided);
  return found == not_compared.end() ? nullptr : &*found;
}

std::vector<NotCompared> DataAnswer::listed() const {
  std::vector<NotCompared> out;
  for (const NotJudged& each : not_compared) {
    NotCompared what = each.what;
    if (each.of == FaultOf::kGroups && !each.undecided) continue;  // nobody asks
    if (what.column.empty()) what.why = cat(kFaultsOf[static_cast<size_t>(each.of)], ": ", what.why);
    const bool said = std::ranges::any_of(out, [&](const NotCompared& before) {
      return before.column == what.column && before.why == what.why;
    });
    if (!said) out.push_back(std::move(what));
  }
  return out;
}

DataAnswer ask_data(const CsvTable& train, const CsvTable* now, const DataFaultOptions& options) {
  return Faults(train, now, options).run();
}

std::vector<DataFault> find_data_faults(const CsvTable& train, const CsvTable* now,
                                        const DataFaultOptions& options) {
  return ask_data(train, now, options).faults;
}

}  // namespace espalier
