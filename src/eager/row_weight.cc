#include "eager/row_weight.h"

#include <utility>

#include "eager/trace.h"

namespace espalier {
namespace {

thread_local Tensor weight_of_rows;

}  // namespace

RowWeightScope::RowWeightScope(Tensor weight) : before_(std::exchange(weight_of_rows, std::move(weight))) {}
RowWeightScope::~RowWeightScope() { weight_of_rows = std::move(before_); }
const Tensor& RowWeightScope::current() { return weight_of_rows; }

SomeRowsCount::SomeRowsCount(bool value) : before_(current()) { set_trace_mode(kSomeRowsCountMode, value); }
SomeRowsCount::~SomeRowsCount() { set_trace_mode(kSomeRowsCountMode, before_); }
bool SomeRowsCount::current() { return trace_mode(kSomeRowsCountMode); }

}  // namespace espalier
