// Statistics as bytes.
#include "base/format.h"
#include "espalier/error.h"
#include "validate/statistics.h"

namespace espalier {

void ColumnStatistics::Tally::write(SketchWriter& out) const {
  out.number(count);
  out.wide(weight);
}

void ColumnStatistics::Tally::read(SketchReader& in) {
  count = in.number();
  weight = in.weight();
  in.check(count <= kMostCount);
}

void ColumnStatistics::write(SketchWriter& out) const {
  for (const Tally* tally : {&filled_, &empty_, &more_, &nan_, &zeros_, &lowest_, &highest_})
    tally->write(out);
  out.number(bytes_);
  out.number(invalid_);
  out.number(lengths_.has_value());
  if (lengths_) lengths_->write(out);
  if (type_ == CellType::kNone) return;
  if (numbers_) numbers_->write(out);
  if (texts_) texts_->write(out);
  if (times_) times_->write(out);
}

void ColumnStatistics::read(SketchReader& in, uint64_t rows) {
  for (Tally* tally : {&filled_, &empty_, &more_, &nan_, &zeros_, &lowest_, &highest_}) tally->read(in);
  in.check(filled_.count + empty_.count <= rows && (type_ != CellType::kNone || filled_.count == 0));
  bytes_ = in.number();
  invalid_ = in.number();
  const uint64_t several = in.number();
  in.check(several <= 1 && bytes_ <= kMostCount);
  if (several) {
    lengths_.emplace(kMostLengths, false).read(in);
    uint64_t all = 0;
    for (const ValueRange& range : lengths_->ranges()) {
      in.check(range.low > 1 && range.high <= static_cast<double>(kMostCount) &&
               range.count <= filled_.count - all);
      all += range.count;
    }
  }
  if (type_ == CellType::kNone) return;
  if (numbers_) numbers_->read(in);
  if (texts_) texts_->read(in);
  if (times_) times_->read(in, value_count());
}

void TableStatistics::write(const Part& part, SketchWriter& out) {
  out.number(part.totals.rows);
  out.wide(part.totals.weight);
  for (const ColumnStatistics& column : part.columns) column.write(out);
  part.crosses.write(out);
}

void TableStatistics::read(Part& part, SketchReader& in) {
  part.totals.rows = in.number();
  part.totals.weight = in.weight();
  in.check(part.totals.rows <= kMostCount);
  for (ColumnStatistics& column : part.columns) column.read(in, part.totals.rows);
  part.crosses.read(in, part.totals.rows);
}

std::string TableStatistics::bytes() const {
  SketchWriter out;
  out.number(columns_.names.size());
  for (size_t i = 0; i < columns_.names.size(); ++i) {
    out.text(columns_.names[i]);
    out.number(static_cast<uint64_t>(columns_.types[i]));
  }
  out.text(options_.weight);
  out.text(options_.slice);
  out.number(options_.semantic_domains);
  out.number(options_.crosses.has_value());
  const std::vector<std::string> crosses = options_.crosses.value_or(std::vector<std::string>());
  out.number(crosses.size());
  for (const std::string& name : crosses) out.text(name);
  write(all_, out);
  out.number(slices_.size());
  for (const auto& [value, part] : slices_) {
    out.text(value);
    write(part, out);
  }
  return out.take();
}

TableStatistics TableStatistics::read_bytes(std::string_view bytes) {
  SketchReader in(bytes);
  TableColumns columns;
  constexpr size_t kLeast = 200;  // bytes of a column
  for (uint64_t left = in.count(kLeast); left > 0; --left) {
    columns.names.emplace_back(in.text());
    const uint64_t type = in.number();
    in.check(type <= static_cast<uint64_t>(CellType::kText));
    columns.types.push_back(static_cast<CellType>(type));
  }
  StatisticsOptions options;
  options.weight = in.text();
  options.slice = in.text();
  const auto yes = [&] {
    const uint64_t value = in.number();
    in.check(value <= 1);
    return value == 1;
  };
  options.semantic_domains = yes();
  if (yes()) options.crosses.emplace();
  for (uint64_t left = in.count(8); left > 0; --left) {
    in.check(options.crosses.has_value());
    options.crosses->emplace_back(in.text());
  }
  TableStatistics out(std::move(columns), options);
  read(out.all_, in);
  for (uint64_t left = in.count(32); left > 0; --left) {
    const std::string value(in.text());
    const auto [part, added] = out.slices_.try_emplace(value, out.make_part());
    in.check(added && out.slices_.size() <= kMostSlices);
    read(part->second, in);
  }
  in.check(in.at_end());
  return out;
}

}  // namespace espalier
