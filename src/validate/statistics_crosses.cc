#include "validate/statistics_crosses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace espalier {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double square_root(double variance) { return std::sqrt(std::max(0.0, variance)); }

}  // namespace

std::vector<double> single_numbers(const CellBatch& cells) {
  std::vector<double> out(cells.states.size(), kNone);
  for (size_t row = 0; row < out.size(); ++row) {
    const bool one = cells.states[row] == CellState::kValue && cells.end(row) - cells.begin(row) == 1;
    if (one) out[row] = cells.numbers[cells.begin(row)];
  }
  return out;
}

void CrossSums::add(double x, double y) {
  ++count_;
  if (!std::isfinite(x) || !std::isfinite(y)) {
    ++infinite_;
    return;
  }
  x_.add(x);
  y_.add(y);
  xx_.add_square(x);
  yy_.add_square(y);
  xy_.add_product(x, y);
}

void CrossSums::merge(const CrossSums& other) {
  count_ += other.count_;
  infinite_ += other.infinite_;
  x_.merge(other.x_);
  y_.merge(other.y_);
  xx_.merge(other.xx_);
  yy_.merge(other.yy_);
  xy_.merge(other.xy_);
}

void CrossSums::fill(tfmd::CrossFeatureStatistics& out) const {
  out.set_count(count_);
  if (count_ == 0) return;
  tfmd::NumericCrossStatistics& numbers = *out.mutable_num_cross_stats();
  if (infinite_ > 0) return numbers.set_covariance(std::numeric_limits<float>::quiet_NaN());
  ExactSum count;
  count.add(static_cast<double>(count_));
  const double covariance = covariance_of(xy_, x_, y_, count);
  numbers.set_covariance(static_cast<float>(covariance));
  const double deviations =
      square_root(covariance_of(xx_, x_, x_, count)) * square_root(covariance_of(yy_, y_, y_, count));
  if (deviations > 0) numbers.set_correlation(static_cast<float>(covariance / deviations));
}

void CrossSums::write(SketchWriter& out) const {
  out.number(count_);
  out.number(infinite_);
  for (const ExactSum* sum : {&x_, &y_, &xx_, &yy_, &xy_}) sum->write(out);
}

void CrossSums::read(SketchReader& in, uint64_t rows) {
  count_ = in.number();
  infinite_ = in.number();
  in.check(0 < count_ && count_ <= rows && infinite_ <= count_);
  for (ExactSum* sum : {&x_, &y_, &xx_, &yy_, &xy_}) sum->read(in);
}

void Crosses::add(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys) {
  CrossSums* sums = nullptr;
  for (size_t row = 0; row < xs.size(); ++row) {
    if (std::isnan(xs[row]) || std::isnan(ys[row])) continue;
    if (!sums) sums = &of_[x][y];
    sums->add(xs[row], ys[row]);
  }
}

void Crosses::add(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys,
                  std::span<const uint32_t> rows) {
  std::vector<double> some_xs, some_ys;
  for (const uint32_t row : rows) {
    some_xs.push_back(xs[row]);
    some_ys.push_back(ys[row]);
  }
  add(x, y, some_xs, some_ys);
}

void Crosses::merge(const Crosses& other) {
  for (size_t x = 0; x < of_.size(); ++x) {
    for (const auto& [y, sums] : other.of_[x]) of_[x][y].merge(sums);
  }
}

void Crosses::clear(size_t column) {
  for (auto& pairs : of_) pairs.erase(column);
  of_[column].clear();
}

void Crosses::fill(const std::vector<std::string>& names, const std::vector<bool>& taken,
                   tfmd::DatasetFeatureStatistics& out) const {
  std::vector<size_t> columns(names.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  std::erase_if(columns, [&](size_t column) { return !taken[column]; });
  std::ranges::sort(columns, {}, [&](size_t column) { return names[column]; });
  for (size_t i = 0; i < columns.size(); ++i) {
    for (size_t j = i + 1; j < columns.size(); ++j) {
      tfmd::CrossFeatureStatistics& cross = *out.add_cross_features();
      cross.mutable_path_x()->add_step(names[columns[i]]);
      cross.mutable_path_y()->add_step(names[columns[j]]);
      const auto [x, y] = std::minmax(columns[i], columns[j]);
      if (const auto found = of_[x].find(y); found != of_[x].end()) found->second.fill(cross);
    }
  }
}

void Crosses::write(SketchWriter& out) const {
  for (const auto& pairs : of_) {
    out.number(pairs.size());
    for (const auto& [y, sums] : pairs) {
      out.number(y);
      sums.write(out);
    }
  }
}

void Crosses::read(SketchReader& in, uint64_t rows) {
  constexpr size_t kLeast = 2000;  // bytes of a pair
  for (size_t x = 0; x < of_.size(); ++x) {
    size_t least = x;
    for (uint64_t left = in.count(kLeast); left > 0; --left) {
      const uint64_t y = in.number();
      in.check(least < y && y < of_.size());
      least = y;
      of_[x][y].read(in, rows);
    }
  }
}

}  // namespace espalier
