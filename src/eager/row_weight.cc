#include "eager/row_weight.h"

#include <utility>

#include "eager/trace.h"

namespace espalier {
namespace {

thread_local RowWeightScope* weight_scope = nullptr;

}  // namespace

RowWeightScope::RowWeightScope(Tensor weight)
    : weight_(std::move(weight)), before_(std::exchange(weight_scope, this)) {}
RowWeightScope::~RowWeightScope() { weight_scope = before_; }

const Tensor& RowWeightScope::current() {
  static const Tensor all_count;
  if (!weight_scope) return all_count;
  weight_scope->asked_ = true;
  return weight_scope->weight_;
}

Tensor RowWeightScope::of(const Tensor& rows) {
  const Tensor& weight = current();
  return weight.defined() && rows.rank() > 0 && rows.size(0) == weight.size(0) ? weight : Tensor();
}

SomeRowsCount::SomeRowsCount(bool value) : before_(current()) { set_trace_mode(kSomeRowsCountMode, value); }
SomeRowsCount::~SomeRowsCount() { set_trace_mode(kSomeRowsCountMode, before_); }
bool SomeRowsCount::current() { return trace_mode(kSomeRowsCountMode); }

}  // namespace espalier
