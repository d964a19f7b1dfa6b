#include "fairness/rare_slices.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/format.h"
#include "fairness/rare_classes.h"

namespace espalier {
namespace {

using Values = std::vector<std::string>;

// Places of `part` in `whole`; empty unless all are there.
std::vector<size_t> places(const Values& part, const Values& whole) {
  std::vector<size_t> out;
  for (const std::string& column : part) {
    const auto found = std::ranges::find(whole, column);
    if (found == whole.end()) return {};
    out.push_back(static_cast<size_t>(found - whole.begin()));
  }
  return out;
}

Values at(const std::vector<size_t>& places, const Values& values) {
  Values out;
  for (const size_t place : places) out.push_back(values[place]);
  return out;
}

// Slices of which a total may be known: they are alike in some of their values.
std::vector<std::vector<size_t>> totals(const SlicingFigures& by) {
  std::vector<std::vector<size_t>> out;
  const size_t columns = by.columns.size();
  for (size_t subset = 0; subset + 1 < size_t{1} << columns; ++subset) {
    std::vector<size_t> kept;
    for (size_t i = 0; i < columns; ++i) {
      if (subset >> i & 1) kept.push_back(i);
    }
    std::map<Values, std::vector<size_t>> alike;
    for (size_t i = 0; i < by.slices.size(); ++i) alike[at(kept, by.slices[i].slice.values)].push_back(i);
    for (auto& [values, slices] : alike) out.push_back(std::move(slices));
  }
  return out;
}

// Which slices of each slicing are hidden.
class Hiding {
 public:
  Hiding(const std::vector<SlicingFigures>& by, int64_t k) : by_(by), k_(k) {
    for (const SlicingFigures& slicing : by) {
      totals_.push_back(totals(slicing));
      std::vector<bool>& its = hidden_.emplace_back();
      for (const SliceFigures& slice : slicing.slices) its.push_back(slice.slice.rows < k);
    }
    for (bool more = true; more;) {
      more = false;
      for (size_t fine = 0; fine < by.size(); ++fine) {
        for (size_t coarse = 0; coarse < by.size(); ++coarse) more |= agree(coarse, fine);
        for (const std::vector<size_t>& total : totals_[fine]) {
          while (hide_another(fine, total)) more = true;
        }
      }
    }
  }
  const std::vector<bool>& operator[](size_t slicing) const { return hidden_[slicing]; }

 private:
  // Parts of what is hidden are hidden, and what has one part alone is hidden with it.
  bool agree(size_t coarse, size_t fine) {
    const std::vector<SliceFigures>&wholes = by_[coarse].slices, &parts = by_[fine].slices;
    if (by_[coarse].columns.size() >= by_[fine].columns.size()) return false;
    const std::vector<size_t> shared = places(by_[coarse].columns, by_[fine].columns);
    if (shared.empty()) return false;
    std::map<Values, std::vector<size_t>> parts_of;
    for (size_t i = 0; i < parts.size(); ++i) parts_of[at(shared, parts[i].slice.values)].push_back(i);
    bool changed = false;
    for (size_t c = 0; c < wholes.size(); ++c) {
      const std::vector<size_t>& its = parts_of[wholes[c].slice.values];
      if (its.size() == 1 && hidden_[fine][its[0]]) changed |= hide(coarse, c);
      if (!hidden_[coarse][c]) continue;
      for (const size_t i : its) changed |= hide(fine, i);
    }
    return changed;
  }
  // Where what is hidden of a total is one alone, or fewer than k rows.
  bool hide_another(size_t slicing, const std::vector<size_t>& total) {
    const std::vector<SliceFigures>& slices = by_[slicing].slices;
    int64_t parts = 0, rows = 0;
    const size_t none = slices.size();
    size_t smallest = none;
    for (const size_t i : total) {
      const int64_t its = slices[i].slice.rows;
      if (hidden_[slicing][i]) {
        ++parts, rows += its;
      } else if (smallest == none || its < slices[smallest].slice.rows) {
        smallest = i;
      }
    }
    if (parts == 0 || (parts > 1 && rows >= k_) || smallest == none) return false;
    return hide(slicing, smallest);
  }
  bool hide(size_t slicing, size_t slice) {
    const bool was = hidden_[slicing][slice];
    hidden_[slicing][slice] = true;
    return !was;
  }

  const std::vector<SlicingFigures>& by_;
  int64_t k_;
  std::vector<std::vector<std::vector<size_t>>> totals_;
  std::vector<std::vector<bool>> hidden_;
};

// Rows are drawn alike in all slices, so that what they say together is what the fold says.
void add(Replicates& sum, const Replicates& part) {
  if (sum.of.empty()) {
    sum.method = part.method;
    for (const Replicate& one : part.of)
      sum.of.push_back({.at = std::vector<Confusion>(one.at.size()), .sums = {}, .auc = {}});
  }
  for (size_t i = 0; i < part.of.size(); ++i) {
    for (size_t t = 0; t < part.of[i].at.size(); ++t) sum.of[i].at[t] += part.of[i].at[t];
    sum.of[i].sums += part.of[i].sums;
  }
}

SliceFigures folded_slices(const SlicingFigures& by, const std::vector<bool>& hidden, int64_t min_rows) {
  SliceFigures out{.slice = {.name = cat(by.name(), "=", kRareName),
                             .values = Values(by.columns.size(), std::string(kRareName))},
                   .at = std::vector<Confusion>(by.slices[0].at.size()),
                   .sums = {},
                   .auc = {},
                   .matrix = std::vector<int64_t>(by.slices[0].matrix.size()),
                   .histogram = std::vector<LabelTallies>(by.slices[0].histogram.size())};
  for (size_t i = 0; i < by.slices.size(); ++i) {
    if (!hidden[i]) continue;
    const SliceFigures& slice = by.slices[i];
    out.slice.rows += slice.slice.rows;
    out.sums += slice.sums;
    for (size_t t = 0; t < out.at.size(); ++t) out.at[t] += slice.at[t];
    for (size_t cell = 0; cell < out.matrix.size(); ++cell) out.matrix[cell] += slice.matrix[cell];
    add(out.replicates, slice.replicates);
    for (size_t bin = 0; bin < out.histogram.size(); ++bin) {
      for (const size_t label : {0, 1}) out.histogram[bin][label] += slice.histogram[bin][label];
    }
  }
  out.slice.thin = out.slice.rows < min_rows;
  return out;
}

}  // namespace

FoldedAssessment fold_rare(const Assessment& assessment, int64_t k) {
  const std::vector<SlicingFigures>& by = assessment.by;
  const Hiding hidden(by, k);
  FoldedAssessment out{.assessment = {.options = assessment.options,
                                      .overall = assessment.overall,
                                      .by = {},
                                      .tenths = assessment.tenths},
                       .hidden = {},
                       .folded = {},
                       .left_out = {}};
  for (size_t s = 0; s < by.size(); ++s) {
    SlicingFigures kept{.columns = by[s].columns, .slices = {}};
    for (size_t i = 0; i < by[s].slices.size(); ++i) {
      if (hidden[s][i]) {
        out.hidden.push_back(by[s].slices[i].slice.name);
      } else {
        kept.slices.push_back(by[s].slices[i]);
      }
    }
    const int64_t gone = std::ssize(by[s].slices) - std::ssize(kept.slices);
    if (kept.slices.empty()) {
      out.left_out.push_back(by[s].name());
      continue;
    }
    if (gone > 0) {
      kept.slices.push_back(folded_slices(by[s], hidden[s], assessment.options.slices.min_rows));
      out.folded[kept.slices.back().slice.name] = gone;
    }
    out.assessment.by.push_back(std::move(kept));
  }
  if (!assessment.overall.matrix.empty()) out.hidden_figures = fold_rare_classes(out.assessment, k);
  return out;
}

std::vector<std::string> names_of_few(const Assessment& assessment, int64_t k) {
  FoldedAssessment folded = fold_rare(assessment, k);
  folded.hidden.insert(folded.hidden.end(), folded.hidden_figures.begin(), folded.hidden_figures.end());
  return std::move(folded.hidden);
}

bool is_fold(const RowSlice& slice) {
  return !slice.values.empty() && std::ranges::count(slice.values, kRareName) == std::ssize(slice.values);
}

std::string without_names(std::string text, std::vector<std::string> hidden) {
  // "g=ab, h=x" before "g=ab", which it holds.
  std::ranges::stable_sort(hidden, {}, [](const std::string& name) { return -std::ssize(name); });
  const auto in_word = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (const std::string& name : hidden) {
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      if (!in_word(at - 1) && !in_word(at + name.size())) text.replace(at, name.size(), kRareName);
    }
  }
  return text;
}

}  // namespace espalier
