#include "eager/deferred_reads.h"

#include <algorithm>
#include <cstring>

#include "eager/trace.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {
namespace {

// Those of one dtype lie behind each other; dtypes in the order of their first variable.
std::vector<std::vector<Variable>> by_dtype(const std::vector<Variable>& variables) {
  std::vector<std::vector<Variable>> out;
  for (const Variable& variable : variables) {
    const auto it =
        std::ranges::find_if(out, [&](const auto& group) { return group[0].dtype() == variable.dtype(); });
    (it == out.end() ? out.emplace_back() : *it).push_back(variable);
  }
  return out;
}

std::vector<Tensor> packed(const std::vector<Variable>& variables) {
  std::vector<Tensor> out;
  for (const auto& group : by_dtype(variables)) {
    std::vector<Tensor> parts;
    for (const Variable& variable : group)
      parts.push_back(reshape(variable.state()->read(), {variable.type().elements()}));
    out.push_back(concatenate(parts, 0));
  }
  return out;
}

bool are_equal(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::ranges::equal(a, b,
                            [](const Variable& x, const Variable& y) { return x.state() == y.state(); });
}

}  // namespace

void DeferredReads::take(const std::vector<Variable>& variables) {
  packed_.clear();
  const bool far = std::ranges::any_of(variables, [](const Variable& variable) {
    return variable.state()->value.node()->remote() != nullptr;
  });
  if (!far) return;
  if (!pack_ || !are_equal(variables, variables_)) {
    variables_ = variables;
    pack_.emplace([variables](std::span<const Tensor>) { return packed(variables); },
                  FunctionOptions{.name = "logs", .check_captures = false});
  }
  packed_ = pack_->call({});
}

void DeferredReads::put_back(Taken taken) {
  packed_.clear();
  if (are_equal(taken.variables, variables_)) packed_ = std::move(taken.packed);
}

DeferredReads::View::View(DeferredReads& values) {
  if (!values.taken()) return;
  scope_.emplace();
  size_t next = 0;
  for (const auto& group : by_dtype(values.variables_)) {
    const auto* from = static_cast<const std::byte*>(values.packed_[next++].bytes());
    for (const Variable& variable : group) {
      scope_->bind(variable.state(), Tensor::from_bytes(variable.type(), from));
      from += variable.type().bytes();
    }
  }
}

}  // namespace espalier
