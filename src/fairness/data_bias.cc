#include "fairness/data_bias.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/listed_names.h"
#include "data/equal_values.h"
#include "espalier/error.h"
#include "evaluate/ranking.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kMostGroups = 50;

ShareOfRows share_of(int64_t rows, int64_t of) {
  ShareOfRows out{.rows = rows, .of = of};
  if (of == 0) return out;
  out.share = static_cast<double>(rows) / static_cast<double>(of);
  out.interval = wilson({out.share, static_cast<double>(of)});
  return out;
}

// Each row's value as a small number: of words their place, of many numbers the twentieth that they lie in.
std::vector<uint32_t> coded(const ColumnProfile& profile) {
  constexpr size_t kBins = 20;
  const std::optional<NumberForm> form = form_of_all(profile);
  if (!form || profile.values.size() <= kBins) return profile.codes;
  const std::vector<double> numbers = value_numbers(profile, *form);
  std::vector<double> all;
  for (const uint32_t code : profile.codes) {
    if (code != ColumnProfile::kMissing) all.push_back(numbers[code]);
  }
  std::ranges::sort(all);
  std::vector<double> edges;
  for (size_t i = 1; i < kBins; ++i) edges.push_back(all[i * all.size() / kBins]);
  std::vector<uint32_t> out;
  for (const uint32_t code : profile.codes) {
    if (code == ColumnProfile::kMissing) {
      out.push_back(code);
      continue;
    }
    out.push_back(static_cast<uint32_t>(std::ranges::upper_bound(edges, numbers[code]) - edges.begin()));
  }
  return out;
}

class Biases {
 public:
  Biases(const CsvTable& table, const DataBiasOptions& options)
      : table_(table), options_(options), missing_(options.missing), rows_(all_rows(table)) {
    for (int64_t c = 0; c < table.columns(); ++c) {
      const ColumnProfile cells = profile_column(table, rows_, c, missing_);
      equal_.emplace_back(cells);
      profiles_.push_back(by_value(cells, equal_.back()));
    }
    if (!options.label.empty()) read_labels();
    check_reference();
  }

  DataBias run() const {
    DataBias out;
    for (const std::string& name : options_.columns) out.columns.push_back(of_column(table_.column(name)));
    crosses(out.thin);
    return out;
  }

 private:
  const std::string& name(int64_t column) const { return table_.names()[static_cast<size_t>(column)]; }
  const ColumnProfile& profile(int64_t column) const { return profiles_[static_cast<size_t>(column)]; }
  const EqualValues& equal(int64_t column) const { return equal_[static_cast<size_t>(column)]; }

  void read_labels() {
    label_ = table_.column(options_.label);
    const ColumnProfile& labels = profile(label_);
    const auto found = std::ranges::find(labels.values, equal(label_).spelling(options_.positive),
                                         &ColumnProfile::Value::text);
    if (found == labels.values.end()) {
      throw ValueError("bias.positive",
                       cat("no row has the label \"", options_.positive, "\" in \"", options_.label, "\""));
    }
    positive_ = static_cast<uint32_t>(found - labels.values.begin());
  }

  // Of all columns that it has shares of, those that are not looked at too.
  void check_reference() const {
    for (const auto& [column, shares] : options_.reference) {
      if (!std::ranges::count(table_.names(), column))
        throw_unknown("bias.reference", "column of the reference", column, table_.names());
      double sum = 0;
      for (const auto& [group, share] : shares) {
        if (!(share >= 0 && share <= 1))
          throw ValueError("bias.reference",
                           cat("the share of \"", group, "\" of \"", column, "\" is ", share));
        sum += share;
      }
      if (std::abs(sum - 1) > 0.01)
        throw ValueError("bias.reference",
                         cat("the shares of \"", column, "\" add up to ", sum, ", not to 1"));
    }
  }

  // The place of a row's group; that of kNoGroup is the last.
  static size_t group_of(const ColumnProfile& groups, size_t row) {
    const uint32_t code = groups.codes[row];
    return code == ColumnProfile::kMissing ? groups.values.size() : code;
  }
  static std::string group_name(const ColumnProfile& groups, size_t group) {
    return group == groups.values.size() ? kNoGroup : value_in_name(std::string(groups.values[group].text));
  }

  ColumnBias of_column(int64_t column) const {
    const ColumnProfile& groups = profile(column);
    if (groups.values.size() > kMostGroups) {
      throw ValueError("bias.groups", cat("column \"", name(column), "\" has ", groups.values.size(),
                                          " values: groups are at most ", kMostGroups));
    }
    ColumnBias out{.column = name(column), .groups = {}, .missing = {}, .proxies = {}};
    shares(groups, out);
    for (int64_t c = 0; c < table_.columns(); ++c) {
      if (c == column) continue;
      missing(groups, c, out.missing);
      if (c != label_) proxy(groups, c, out.proxies);
    }
    std::ranges::stable_sort(out.missing, std::ranges::greater(),
                             [](const MissingGap& gap) { return gap.share_of_most - gap.share_of_least; });
    std::ranges::stable_sort(out.proxies, std::ranges::greater(), &Proxy::area);
    return out;
  }

  void shares(const ColumnProfile& groups, ColumnBias& out) const {
    std::map<std::string, double> expected;
    if (const auto found = options_.reference.find(out.column); found != options_.reference.end()) {
      for (const auto& [group, share] : found->second)
        expected[equal(table_.column(out.column)).spelling(group)] += share;
    }
    const size_t count = groups.values.size() + 1;
    std::vector<int64_t> labelled(count), positive(count);
    for (size_t row = 0; row < rows_.size() && label_ >= 0; ++row) {
      const uint32_t label = profile(label_).codes[row];
      labelled[group_of(groups, row)] += label != ColumnProfile::kMissing;
      positive[group_of(groups, row)] += label == positive_;
    }
    const auto add = [&](const std::string& group, int64_t rows, size_t place) {
      GroupBias& its = out.groups.emplace_back();
      its.group = group;
      its.rows = share_of(rows, group == kNoGroup ? groups.rows() : groups.present());
      if (label_ >= 0 && place < count && labelled[place] > 0)
        its.positives = share_of(positive[place], labelled[place]);
      const auto wanted = expected.find(group);
      if (wanted == expected.end()) return;
      its.expected = wanted->second;
      const bool outside = *its.expected < its.rows.interval.low || *its.expected > its.rows.interval.high;
      its.off = outside && std::abs(its.rows.share - *its.expected) >= kNoticeableShare;
      expected.erase(wanted);
    };
    for (size_t g = 0; g < groups.values.size(); ++g) add(group_name(groups, g), groups.values[g].count, g);
    if (groups.missing > 0) add(kNoGroup, groups.missing, groups.values.size());
    // Groups of the population that the table lacks.
    for (const auto& [group, share] : std::map(expected)) add(group, 0, count);
    std::ranges::stable_sort(out.groups, std::ranges::greater(),
                             [](const GroupBias& group) { return group.rows.rows; });
  }

  void missing(const ColumnProfile& groups, int64_t column, std::vector<MissingGap>& out) const {
    const ColumnProfile& cells = profile(column);
    if (cells.missing == 0) return;
    std::vector<int64_t> absent(groups.values.size()), all(groups.values.size());
    for (size_t row = 0; row < rows_.size(); ++row) {
      const uint32_t group = groups.codes[row];
      if (group == ColumnProfile::kMissing) continue;
      ++all[group];
      absent[group] += cells.codes[row] == ColumnProfile::kMissing;
    }
    const auto share = [&](size_t group) {
      return static_cast<double>(absent[group]) / static_cast<double>(all[group]);
    };
    std::optional<size_t> most, least;
    for (size_t g = 0; g < all.size(); ++g) {
      if (all[g] < options_.min_rows) continue;
      if (!most || share(g) > share(*most)) most = g;
      if (!least || share(g) < share(*least)) least = g;
    }
    if (!most || share(*most) - share(*least) < kNoticeableMissing) return;
    const auto part = [&](size_t group) { return Proportion{share(group), static_cast<double>(all[group])}; };
    // The pair is the worst of all pairs and columns: Bonferroni.
    const auto looked_at = static_cast<double>(all.size() * (all.size() - 1) / 2) *
                           static_cast<double>(std::max<int64_t>(table_.columns() - 1, 1));
    const Interval interval = newcombe(part(*most), part(*least), 1 - (1 - kLevel) / looked_at);
    if (interval.low <= 0) return;
    out.push_back({name(column), group_name(groups, *most), group_name(groups, *least), share(*most),
                   share(*least), interval});
  }

  void proxy(const ColumnProfile& groups, int64_t column, std::vector<Proxy>& out) const {
    const std::vector<uint32_t> codes = coded(profile(column));
    struct Count {
      double of_group = 0, all = 0;
    };
    std::optional<Proxy> best;
    for (size_t g = 0; g < groups.values.size(); ++g) {
      if (groups.values[g].count < options_.min_rows) continue;
      std::map<uint32_t, Count> counts;
      double of_group = 0, all = 0;
      for (size_t row = 0; row < codes.size(); row += 2) {
        if (groups.codes[row] == ColumnProfile::kMissing) continue;
        const bool is = groups.codes[row] == g;
        counts[codes[row]].of_group += is;
        counts[codes[row]].all += 1;
        of_group += is;
        all += 1;
      }
      if (of_group == 0 || of_group == all) continue;
      std::vector<double> scores;
      std::vector<uint8_t> labels;
      for (size_t row = 1; row < codes.size(); row += 2) {
        if (groups.codes[row] == ColumnProfile::kMissing) continue;
        const Count& count = counts[codes[row]];
        // Values of few rows lie near the share of the whole.
        scores.push_back((count.of_group + of_group / all) / (count.all + 1));
        labels.push_back(groups.codes[row] == g);
      }
      const ScoredRows rows(scores, labels);
      const std::optional<Auc> auc = aucs(rows, order_by_score(scores), overall(rows.size()))[0];
      if (!auc || auc->area < kProxyArea || (best && auc->area <= best->area)) continue;
      const std::optional<Interval> interval = delong(*auc);
      best = Proxy{name(column), group_name(groups, g), auc->area,
                   interval.value_or(Interval{auc->area, auc->area})};
    }
    if (best && best->interval.low > 0.5) out.push_back(*best);
  }

  void crosses(std::vector<ThinCross>& out) const {
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      for (size_t k = i + 1; k < options_.columns.size(); ++k)
        cross(table_.column(options_.columns[i]), table_.column(options_.columns[k]), out);
    }
    std::ranges::stable_sort(out, {}, &ThinCross::rows);
  }
  void cross(int64_t a, int64_t b, std::vector<ThinCross>& out) const {
    const ColumnProfile &first = profile(a), &second = profile(b);
    std::map<std::pair<uint32_t, uint32_t>, int64_t> counts;
    for (size_t row = 0; row < rows_.size(); ++row) ++counts[{first.codes[row], second.codes[row]}];
    for (uint32_t i = 0; i < first.values.size(); ++i) {
      for (uint32_t k = 0; k < second.values.size(); ++k) {
        const int64_t rows = counts[{i, k}];
        if (rows >= options_.min_rows) continue;
        out.push_back({cat(name_in_list(name(a)), "=", group_name(first, i), ", ", name_in_list(name(b)), "=",
                           group_name(second, k)),
                       rows});
      }
    }
  }

  const CsvTable& table_;
  const DataBiasOptions& options_;
  const MissingWords missing_;
  std::vector<int64_t> rows_;
  std::vector<EqualValues> equal_;
  std::vector<ColumnProfile> profiles_;
  int64_t label_ = -1;
  uint32_t positive_ = 0;
};

}  // namespace

std::string text(const MissingGap& gap, const std::string& groups) {
  return cat(gap.column, " is missing in ", fixed(gap.share_of_most, 3), " of ", groups, "=", gap.most,
             " and ", fixed(gap.share_of_least, 3), " of ", groups, "=", gap.least, " (gap ",
             fixed(gap.share_of_most - gap.share_of_least, 3), ", interval ", fixed(gap.interval.low, 3),
             " to ", fixed(gap.interval.high, 3), ")");
}

DataBias data_bias(const CsvTable& table, const DataBiasOptions& options) {
  return Biases(table, options).run();
}

}  // namespace espalier
