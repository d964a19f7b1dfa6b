#include "train/rows_interact.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "eager/trace.h"
#include "espalier/run_context.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "step/counted_rows.h"
#include "strategy/rows.h"
#include "train/program.h"

namespace espalier {
namespace {

// Row `a`, and row `b` behind it.
std::vector<Tensor> two_rows(std::span<const Tensor> x, int64_t a, int64_t b) {
  std::vector<Tensor> out = rows_between(x, a, a + 1);
  const std::vector<Tensor> other = rows_between(x, b, b + 1);
  for (size_t i = 0; i < out.size(); ++i) {
    TensorType type = out[i].type();
    type.shape[0] = 2;
    const size_t bytes = out[i].type().bytes();
    const Buffer both = allocate_buffer(2 * bytes);
    std::memcpy(both.get(), out[i].bytes(), bytes);
    std::memcpy(both.get() + bytes, other[i].bytes(), bytes);
    out[i] = make_concrete(Literal(type, both));
  }
  return out;
}

// The number of one that differs from the first.
std::optional<int64_t> other_row(std::span<const Tensor> x) {
  constexpr int64_t kLooked = 64;
  const int64_t end = std::min(x[0].size(0), kLooked);
  for (int64_t row = 1; row < end; ++row)
    if (!are_equal_rows(x, 0, row)) return row;
  return std::nullopt;
}

}  // namespace

bool rows_differ(std::span<const Tensor> x) { return other_row(x).has_value(); }

std::optional<bool> rows_interact(Model& model, std::span<const Tensor> x, bool training) {
  const std::optional<int64_t> other = other_row(x);
  if (!other) return std::nullopt;
  const RunContext here({.shares = &RunContext::current()});
  const RunScope scope(here);
  const EagerScope eager;
  try {
    std::vector<TensorType> rows;
    for (const Tensor& input : x) {
      rows.push_back(input.type());
      rows.back().shape.erase(0);
    }
    const BuildTransaction building;
    const TracedModel traced = trace_model(model, rows, 2, training);
    std::map<std::string, Literal> values;
    for (const auto& [name, variable] : traced.variables)
      values.emplace(name, value_beside_calls(*variable.state()).node()->dense());
    const auto first_row = [&](int64_t beside) {
      std::map<std::string, Variable> copies;
      for (const auto& [name, value] : values) copies.emplace(name, Variable(make_concrete(value)));
      Tensors out = call_program(*traced.graph, two_rows(x, 0, beside),
                                 [&](const std::string& name) { return copies.at(name); });
      for (Tensor& output : out) {
        if (output.rank() == 0 || output.size(0) != 2) return Tensors();
        output = rows_between({&output, 1}, 0, 1)[0];
      }
      return out;
    };
    const auto equal = [](const Tensor& a, const Tensor& b) {
      return a.node()->dense() == b.node()->dense();
    };
    const Tensors alone = first_row(0), beside = first_row(*other);
    return alone.empty() || !std::ranges::equal(alone, beside, equal);
  } catch (const DeviceError&) {
    throw;  // says nothing of the model
  } catch (const Error&) {
    return true;
  }
}

}  // namespace espalier
