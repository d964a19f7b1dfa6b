#include "fairness/rare_classes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "fairness/rare_slices.h"

namespace espalier {
namespace {

constexpr std::string_view kOfClass = "recall[";

// The class of a figure's name; "" of others.
std::string class_of(const std::string& metric) {
  const size_t open = metric.find('[');
  return open == metric.npos ? "" : metric.substr(open + 1, metric.size() - open - 2);
}

// Which are rare, as those of slices are found: each class is the slice of its rows.
std::vector<bool> rare(const Assessment& assessment, const std::vector<std::string>& classes, int64_t k) {
  Assessment by_class{
      .options = assessment.options, .overall = {}, .by = {{.columns = {"class"}, .slices = {}}}};
  for (size_t c = 0; c < classes.size(); ++c) {
    by_class.by[0].slices.push_back(
        {.slice = {.name = cat(c), .rows = rows_of_class(assessment.overall, c), .values = {classes[c]}},
         .at = {},
         .sums = {},
         .auc = {}});
  }
  std::vector<bool> out(classes.size());
  for (const std::string& place : fold_rare(by_class, k).hidden) out[std::stoul(place)] = true;
  return out;
}

// Hidden classes in one place behind the others.
std::vector<int64_t> merged(const SliceFigures& slice, const std::vector<bool>& hidden) {
  std::vector<size_t> to;
  size_t kept = 0;
  for (const bool is : hidden) to.push_back(is ? hidden.size() : kept++);
  std::ranges::replace(to, hidden.size(), kept);
  const size_t size = kept + 1;
  std::vector<int64_t> out(size * size);
  for (size_t i = 0; i < hidden.size(); ++i) {
    for (size_t j = 0; j < hidden.size(); ++j)
      out[to[i] * size + to[j]] += slice.matrix[i * hidden.size() + j];
  }
  return out;
}

}  // namespace

std::vector<std::string> classes_of(const Assessment& assessment) {
  std::vector<std::string> out;
  for (const Estimate& estimate : assessment.overall.estimates) {
    if (estimate.metric.starts_with(kOfClass)) out.push_back(class_of(estimate.metric));
  }
  return out;
}

size_t places_of(const SliceFigures& slice) {
  return static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(slice.matrix.size()))));
}
int64_t rows_of_class(const SliceFigures& slice, size_t place) {
  const size_t size = places_of(slice);
  int64_t out = 0;
  for (size_t said = 0; said < size; ++said) out += slice.matrix[place * size + said];
  return out;
}
int64_t rows_said(const SliceFigures& slice, size_t place) {
  const size_t size = places_of(slice);
  int64_t out = 0;
  for (size_t is = 0; is < size; ++is) out += slice.matrix[is * size + place];
  return out;
}

std::vector<std::string> fold_rare_classes(Assessment& assessment, int64_t k) {
  const std::vector<std::string> classes = classes_of(assessment);
  const std::vector<bool> hidden = rare(assessment, classes, k);
  std::set<std::string> names;
  for (size_t c = 0; c < classes.size(); ++c) {
    if (hidden[c]) names.insert(classes[c]);
  }
  if (names.empty()) return {};
  std::vector<std::string> out;
  for (const Estimate& estimate : assessment.overall.estimates) {
    if (names.contains(class_of(estimate.metric))) out.push_back(estimate.metric);
  }
  const auto fold = [&](SliceFigures& slice) {
    slice.matrix = merged(slice, hidden);
    std::erase_if(slice.estimates, [&](const Estimate& its) { return names.contains(class_of(its.metric)); });
  };
  fold(assessment.overall);
  for (SlicingFigures& by : assessment.by) std::ranges::for_each(by.slices, fold);
  return out;
}

}  // namespace espalier
