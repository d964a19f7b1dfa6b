#include "text/c_loops.h"

#include "base/format.h"

namespace espalier::c_text {
namespace {

// The least and the largest value of an index in the nest.
std::pair<int64_t, int64_t> range_of(const Affine& index, const Dims& sizes) {
  int64_t low = index.offset, high = index.offset;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const int64_t reach = index.factor(k) * (sizes[k] - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

}  // namespace

void Loops::merge() {
  const size_t count = nest_.sizes.size();
  merged_.assign(count, false);
  names_.assign(count, "");
  for (size_t k = 0; k < count; ++k) {
    // A counter of one place is never seen.
    merged_[k] = nest_.sizes[k] == 1;
    size_t next = k + 1;
    while (next < count && nest_.sizes[next] == 1) ++next;
    if (merged_[k] || next >= count || (k < nest_.outer) != (next < nest_.outer)) continue;
    merged_[k] = true;
    for (const Affine& index : recorded_)
      merged_[k] = merged_[k] && index.factor(k) == index.factor(next) * nest_.sizes[next];
    for (const Bound& bound : nest_.bounds)
      merged_[k] = merged_[k] && bound.value.factor(k) == 0 && bound.value.factor(next) == 0;
  }
}

std::string Loops::text(const Affine& index) {
  if (recording_) {
    recorded_.push_back(index);
    return "";
  }
  std::string out;
  const auto term = [&](int64_t factor, const std::string& name) {
    if (factor == 0 || name.empty()) return;
    out += out.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
    const int64_t size = factor < 0 ? -factor : factor;
    out += size == 1 ? name : cat(size, " * ", name);
  };
  for (size_t k = 0; k < names_.size(); ++k) {
    if (!merged_[k]) term(index.factor(k), names_[k]);
  }
  for (size_t k = names_.size(); k < index.factors.size(); ++k)
    term(index.factor(k), start_name(k - names_.size()));
  if (out.empty()) return cat(index.offset);
  if (index.offset) out += cat(index.offset < 0 ? " - " : " + ", std::abs(index.offset));
  return out;
}

size_t Loops::open(size_t first, size_t last) {
  size_t opened = 0;
  int64_t size = 1;
  for (size_t k = first; k < last; ++k) {
    size *= nest_.sizes[k];
    if (merged_[k]) continue;
    constexpr std::string_view kNames = "ijklmnop";
    const std::string name = depth_ <= kNames.size() ? std::string(1, kNames[depth_ - 1]) : cat("i", depth_);
    names_[k] = name;
    line(cat("for (int32_t ", name, " = 0; ", name, " < ", size, "; ++", name, ") {"));
    ++depth_;
    ++opened;
    size = 1;
  }
  return opened;
}

void Loops::close(size_t count) {
  for (; count > 0; --count) {
    --depth_;
    line("}");
  }
}

size_t Loops::open_bounds() {
  std::string condition;
  for (const Bound& bound : nest_.bounds) {
    const auto [low, high] = range_of(bound.value, nest_.sizes);
    const std::string value = text(bound.value);
    const auto require = [&](const std::string& wanted) {
      condition += (condition.empty() ? "" : " && ") + wanted;
    };
    if (low < 0) require(value + " >= 0");
    if (high >= bound.size) require(cat(value, " < ", bound.size));
  }
  if (condition.empty()) return 0;
  line("if (" + condition + ") {");
  ++depth_;
  return 1;
}

std::string Loops::run(const std::function<void()>& before, const std::function<void()>& inner,
                       const std::function<void()>& after) {
  body_.clear();
  size_t outer = open(0, nest_.outer);
  // What the body declares stays its own.
  if (outer == 0) {
    line("{");
    ++depth_;
    ++outer;
  }
  if (before) before();
  if (inner) {
    const size_t loops = open(nest_.outer, nest_.sizes.size()), conditions = open_bounds();
    inner();
    close(loops + conditions);
  }
  if (after) after();
  close(outer);
  return body_;
}

std::string Loops::print(const std::function<void()>& before, const std::function<void()>& inner,
                         const std::function<void()>& after) {
  // What is read must be known before loops can be merged.
  recording_ = true;
  merged_.assign(nest_.sizes.size(), false);
  names_.assign(nest_.sizes.size(), "");
  run(before, inner, after);
  recording_ = false;
  depth_ = 1;
  merge();
  return run(before, inner, after);
}

}  // namespace espalier::c_text
