#include "gate/data_faults.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/format.h"
#include "data/column_guess.h"
#include "evaluate/drift.h"
#include "evaluate/envelope.h"
#include "fairness/data_bias.h"
#include "fairness/rare_slices.h"
#include "validate/anomalies.h"
#include "validate/infer.h"
#include "validate/leaks.h"
#include "validate/statistics.h"

namespace espalier {
namespace {

tfmd::DatasetFeatureStatisticsList statistics(const CsvTable& table, const DataFaultOptions& options) {
  StatisticsOptions how;
  how.empty.missing = options.missing;
  return statistics_of_table(table, how).list();
}

class Faults {
 public:
  Faults(const CsvTable& train, const CsvTable* now, const DataFaultOptions& options)
      : train_(train), now_(now), options_(options) {
    const MissingWords missing(options.missing);
    const std::vector<int64_t> rows = all_rows(train);
    for (int64_t c = 0; c < train.columns(); ++c)
      profiles_.push_back(profile_column(train, rows, c, missing));
  }

  std::vector<DataFault> run() {
    if (now_) schema();
    leaks();
    if (now_) range();
    if (now_) drift();
    groups(train_, "");
    if (now_ && std::ranges::all_of(options_.groups, [&](const auto& name) { return meets(name); }))
      groups(*now_, " of the new rows");
    names();
    std::ranges::stable_partition(found_, &DataFault::warning);
    return std::move(found_);
  }

 private:
  void add(FaultOf of, const std::string& column, std::string text, bool warning = true) {
    const bool of_values = of == FaultOf::kSchema || of == FaultOf::kRange || of == FaultOf::kDrift;
    if (of_values && options_.ignored.contains(column)) return;
    found_.push_back({of, warning, column, std::move(text)});
  }

  void schema() {
    const tfmd::DatasetFeatureStatisticsList list = statistics(*now_, options_);
    const Validation validation =
        validate(options_.schema ? *options_.schema : infer_train_schema(train_, options_),
                 {.statistics = &list.datasets(0)});
    if (validation.data_missing) return add(FaultOf::kSchema, "", "there are no rows");
    std::map<std::string, size_t> places;
    for (const CsvTable* table : {&train_, now_}) {
      for (const std::string& name : table->names()) places.emplace(name, places.size());
    }
    std::vector<const FeatureAnomaly*> sorted;
    for (const FeatureAnomaly& anomaly : validation.features) sorted.push_back(&anomaly);
    std::ranges::stable_sort(sorted, {}, [&](const FeatureAnomaly* anomaly) {
      const auto found = places.find(path_text(anomaly->path));
      return found == places.end() ? places.size() : found->second;
    });
    for (const FeatureAnomaly* anomaly : sorted) {
      const std::string name = path_text(anomaly->path);
      for (const AnomalyReason& reason : anomaly->reasons) {
        std::string brief = reason.brief;
        brief[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(brief[0])));
        add(FaultOf::kSchema, name, cat("column \"", name, "\": ", brief),
            anomaly->severity == tfmd::AnomalyInfo::ERROR);
      }
    }
  }

  bool meets(const std::string& name) const {
    return std::ranges::find(now_->names(), name) != now_->names().end();
  }
  void leaks() {
    // Rows that lack a column cannot be held against those that train.
    const bool whole = now_ && std::ranges::all_of(train_.names(), [&](const std::string& name) {
                         return name == options_.label || meets(name);
                       });
    for (const LeakFinding& leak :
         find_leaks(train_, whole ? now_ : nullptr,
                    {.label = options_.label, .time = options_.time, .missing = options_.missing}))
      add(FaultOf::kLeak, leak.column, leak.text, leak.warning);
  }

  void range() {
    for (const ColumnBeyond& column :
         find_beyond(train_, *now_, {.alpha = options_.alpha / 2, .missing = options_.missing})) {
      if (!column.far) continue;
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

  const CsvTable& train_;
  const CsvTable* now_;
  const DataFaultOptions& options_;
  std::vector<ColumnProfile> profiles_;  // of what trains
  std::vector<DataFault> found_;
};

}  // namespace

// Dates go on: those of new rows are no values of a domain.
tfmd::Schema infer_train_schema(const CsvTable& train, const DataFaultOptions& options) {
  const std::vector<int64_t> rows = all_rows(train);
  const MissingWords missing(options.missing);
  tfmd::Schema out = infer_schema(statistics(train, options), {.shapes = false});
  for (tfmd::Feature& feature : *out.mutable_feature()) {
    const ColumnProfile column = profile_column(train, rows, train.column(feature.name()), missing);
    if (date_style(feature.name(), column)) feature.clear_domain_info();
  }
  return out;
}

std::vector<DataFault> find_data_faults(const CsvTable& train, const CsvTable* now,
                                        const DataFaultOptions& options) {
  return Faults(train, now, options).run();
}

}  // namespace espalier
