#include "nn/row_weight.h"

#include <utility>

#include "eager/trace.h"

namespace espalier {
namespace {

constexpr uint64_t kSomeRowsCount = 2;  // of trace_context()

thread_local Tensor weight_of_rows;

void set_some_rows_count(bool on) {
  trace_context() = on ? trace_context() | kSomeRowsCount : trace_context() & ~kSomeRowsCount;
}

}  // namespace

RowWeightScope::RowWeightScope(Tensor weight) : before_(std::exchange(weight_of_rows, std::move(weight))) {}
RowWeightScope::~RowWeightScope() { weight_of_rows = std::move(before_); }
const Tensor& RowWeightScope::current() { return weight_of_rows; }

SomeRowsCount::SomeRowsCount(bool value) : before_(current()) { set_some_rows_count(value); }
SomeRowsCount::~SomeRowsCount() { set_some_rows_count(before_); }
bool SomeRowsCount::current() { return trace_context() & kSomeRowsCount; }

}  // namespace espalier
