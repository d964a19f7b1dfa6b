#include "data/equal_values.h"

#include <deque>
#include <memory>

#include "base/hash.h"
#include "data/column_guess.h"

namespace espalier {

EqualValues::EqualValues(const ColumnProfile& profile) { read({&profile}); }
EqualValues::EqualValues(const ColumnProfile& a, const ColumnProfile& b) { read({&a, &b}); }

void EqualValues::read(const std::vector<const ColumnProfile*>& profiles) {
  int64_t present = 0, cells = -1;
  for (const ColumnProfile* profile : profiles) {
    if (holds_codes(*profile)) return;
    present += profile->present();
  }
  for (const ColumnProfile* of : profiles) {
    const FormCount own = number_form(*of);
    int64_t read = own.cells;
    for (const ColumnProfile* profile : profiles) {
      if (profile == of) continue;
      read += profile->count([&](std::string_view text) { return read_number(text, own.form).has_value(); });
    }
    if (read > cells) form_ = own.form, cells = read;
    if (cells == present) break;
  }
  of_numbers_ = nearly_all(cells, present);
  if (!of_numbers_ || form_.plain()) return;
  for (const ColumnProfile* profile : profiles) {
    for (const ColumnProfile::Value& value : profile->values) {
      const std::optional<std::string> number = exact_number(value.text, form_);
      if (!number) continue;
      std::string& best = spellings_[*number];
      const auto rank = [](std::string_view text) { return std::pair(text.size(), text); };
      if (best.empty() || rank(value.text) < rank(best)) best = value.text;
    }
  }
}

std::string EqualValues::spelling(std::string_view text) const {
  std::optional<std::string> number = of_numbers_ ? exact_number(text, form_) : std::nullopt;
  if (!number) return std::string(text);
  const auto known = spellings_.find(*number);
  return known == spellings_.end() ? std::move(*number) : known->second;
}

ColumnProfile by_value(const ColumnProfile& profile, const EqualValues& equal) {
  if (!equal.of_numbers()) return profile;
  ColumnProfile out = profile;
  out.values.clear();
  const auto kept = std::make_shared<std::deque<std::string>>();
  std::unordered_map<std::string_view, uint32_t> places;
  std::vector<uint32_t> of_value;
  of_value.reserve(profile.values.size());
  for (const ColumnProfile::Value& value : profile.values) {
    const std::string& text = kept->emplace_back(equal.spelling(value.text));
    const auto [found, fresh] = places.emplace(text, static_cast<uint32_t>(out.values.size()));
    of_value.push_back(found->second);
    if (fresh) {
      out.values.push_back({text, value.count, value.row});
      continue;
    }
    kept->pop_back();
    ColumnProfile::Value& same = out.values[found->second];
    same.count += value.count;
    same.row = std::min(same.row, value.row);
  }
  for (uint32_t& code : out.codes) {
    if (code != ColumnProfile::kMissing) code = of_value[code];
  }
  out.kept = kept;
  return out;
}

ColumnProfile profile_values(const CsvTable& table, std::span<const int64_t> rows, int64_t column,
                             const MissingWords& missing) {
  const ColumnProfile profile = profile_column(table, rows, column, missing);
  return by_value(profile, EqualValues(profile));
}

std::vector<uint64_t> value_hashes(const ColumnProfile& profile, uint64_t seed) {
  std::vector<uint64_t> of_value;
  of_value.reserve(profile.values.size());
  for (const ColumnProfile::Value& value : profile.values)
    of_value.push_back(hash_bytes(value.text.data(), value.text.size(), seed));
  return profile.each_row(of_value, hash_combine(seed, ~uint64_t{0}));
}

std::vector<ColumnPair> columns_of_both(const CsvTable& ours, const CsvTable& theirs) {
  std::vector<ColumnPair> out;
  const bool by_position = ours.numbered() || theirs.numbered();
  std::unordered_map<std::string_view, int64_t> places;
  for (int64_t c = 0; c < theirs.columns() && !by_position; ++c)
    places.emplace(theirs.names()[static_cast<size_t>(c)], c);
  for (int64_t c = 0; c < ours.columns(); ++c) {
    if (by_position) {
      if (c < theirs.columns()) out.push_back({c, c});
      continue;
    }
    const auto found = places.find(ours.names()[static_cast<size_t>(c)]);
    if (found != places.end()) out.push_back({c, found->second});
  }
  return out;
}

}  // namespace espalier
