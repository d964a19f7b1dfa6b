#include "gate/data_faults.h"

#include <algorithm>
#include <unordered_map>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_guess.h"
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

  std::vector<DataFault> run() {
    if (now_) found_ = find_schema_faults(train_, *now_, options_);
    leaks();
    if (now_) range();
    if (now_) drift();
    groups(train_, "");
    if (now_ && std::ranges::all_of(options_.groups, [&](const auto& name) { return meets(name); }))
      groups(*now_, " of the new rows");
    names();
    cells();
    std::ranges::stable_partition(found_, &DataFault::warning);
    return std::move(found_);
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
  void leaks() {
    // Rows that lack a column cannot be held against those that train.
    const bool whole = now_ && std::ranges::all_of(train_.names(), [&](const std::string& name) {
                         return name == options_.label || meets(name);
                       });
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

  void range() {
    for (const ColumnBeyond& column :
         find_beyond(train_, *now_, {.alpha = options_.alpha / 2, .missing = options_.missing})) {
      if (!column.far) {
        if (column.far_out > 0)
          add(FaultOf::kRange, column.column,
              cat("column \"", column.column, "\": ", column.far_out, " of ", column.of,
                  column.far_out == 1 ? " rows lies" : " rows lie",
                  " beyond all that train by more than the whole range of these"),
              false);
        continue;
      }
      add(FaultOf::kRange, column.column,
          cat("column \"", column.column, "\": ", column.above, " of ", column.of, " rows lie above and ",
              column.below, " below all that train"));
    }
  }

  void drift() {
    for (ColumnDrift& drift :
         find_drift(train_, *now_, {.alpha = options_.alpha / 2, .missing = options_.missing})) {
      if (!drift.drifted) continue;
      const double rows = std::max(drift.share_before * static_cast<double>(drift.rows_before),
                                   drift.share_now * static_cast<double>(drift.rows_now));
      if (drift.of == DriftOf::kValues && rows < static_cast<double>(options_.k)) drift.value = "(rare)";
      add(FaultOf::kDrift, drift.column, text(drift));
    }
  }

  void groups(const CsvTable& table, const char* whose) {
    if (options_.groups.empty()) return;
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
    for (size_t c = 0; c < profiles_.size(); ++c) {
      words_among_numbers(train_.names()[c], profiles_[c]);
      spellings(train_.names()[c], profiles_[c]);
    }
  }
  void words_among_numbers(const std::string& name, const ColumnProfile& profile) {
    const FormCount numbers = number_form(profile);
    const int64_t words = profile.present() - numbers.cells;
    if (words == 0 || 2 * numbers.cells < profile.present() || profile.count(has_leading_zero) > 0) return;
    if (date_style(name, profile)) return;
    const ColumnProfile::Value* most = nullptr;
    for (const ColumnProfile::Value& value : profile.values) {
      if (!read_number(value.text, numbers.form) && (!most || value.count > most->count)) most = &value;
    }
    const bool named = most->count >= options_.k;
    add(FaultOf::kCells, name,
        cat("column \"", name, "\" is of numbers but for ", counted(words, "cell"),
            named ? cat(", most often \"", shortened(most->text), "\"") : "",
            "; what means no value is named as missing (--missing)"),
        false);
  }
  // Of columns whose values come again.
  void spellings(const std::string& name, const ColumnProfile& profile) {
    if (2 * profile.different() > profile.present()) return;
    std::unordered_map<std::string, std::string_view> keys;
    int64_t more = 0;
    std::string difference;
    for (const ColumnProfile::Value& value : profile.values) {
      const auto [first, fresh] = keys.emplace(spelling_key(value.text), value.text);
      if (fresh) continue;
      ++more;
      if (difference.empty()) difference = spelling_difference(first->second, value.text);
    }
    if (more == 0) return;
    add(FaultOf::kCells, name,
        cat("column \"", name, "\": ", counted(more, "value"), more == 1 ? " differs" : " differ",
            " from others in ", difference, " alone", name == options_.label ? " (--merge-labels)" : ""),
        false);
  }

  const CsvTable& train_;
  const CsvTable* now_;
  DataFaultOptions options_;
  std::vector<ColumnProfile> profiles_;  // of what trains
  std::vector<DataFault> found_;
};

}  // namespace

std::vector<DataFault> find_data_faults(const CsvTable& train, const CsvTable* now,
                                        const DataFaultOptions& options) {
  return Faults(train, now, options).run();
}

}  // namespace espalier
