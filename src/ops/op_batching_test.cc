#include "interp/interpreter.h"
#include "ops/op_checks_test.h"

namespace espalier {
namespace {

constexpr int64_t kBatch = 3;

// The call of the op that the case makes on inputs drawn with `seed`.
TapeEntry recorded_call(const OpDef& op, const OpCase& c, DType dtype, uint64_t seed) {
  CallLog log(&op);
  c.call(draw_inputs(c, dtype, seed), dtype);
  return log.calls.at(0);
}

Tensor stack(const std::vector<Tensor>& parts) {
  TensorType type = parts[0].type();
  const size_t size = type.bytes();
  type.shape.insert(0, static_cast<int64_t>(parts.size()));
  Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < parts.size() && size; ++i)
    std::memcpy(buffer.get() + i * size, parts[i].bytes(), size);
  return make_concrete(Literal(type, buffer));
}

void check_subset(const OpDef& op, const std::vector<TapeEntry>& calls, unsigned subset, bool may_refuse,
                  Tolerance tolerance) {
  const size_t count = calls[0].inputs.size();
  std::vector<std::vector<Tensor>> singles(calls[0].outputs.size());
  for (const TapeEntry& call : calls) {
    std::vector<Tensor> inputs(calls[0].inputs.begin(), calls[0].inputs.end());
    for (size_t i = 0; i < count; ++i) {
      if (subset >> i & 1) inputs[i] = call.inputs[i];
    }
    const std::vector<Literal> results =
        evaluate({op, calls[0].attributes, inputs, calls[0].regions}, RunContext::current());
    for (size_t k = 0; k < results.size(); ++k) singles[k].push_back(make_concrete(results[k]));
  }
  std::vector<Tensor> inputs;
  std::vector<bool> batched;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor> parts;
    for (const TapeEntry& call : calls) parts.push_back(call.inputs[i]);
    batched.push_back(subset >> i & 1);
    inputs.push_back(batched[i] ? stack(parts) : calls[0].inputs[i]);
  }
  BatchContext context{op, calls[0].attributes, inputs, calls[0].regions, batched, kBatch, {}};
  try {
    op.batch(context);
  } catch (const UnsupportedError&) {
    if (may_refuse) return;
    throw;
  }
  if (context.outputs.empty() && op.decompose) return;  // which is batched instead
  ASSERT_EQ(context.outputs.size(), singles.size());
  for (size_t k = 0; k < singles.size(); ++k)
    expect_close(context.outputs[k], to_array(stack(singles[k])), tolerance,
                 cat("batched result ", k, " with inputs of mask ", subset));
}

}  // namespace

void check_batching(const OpDef& op, const OpCase& c, DType dtype, const OpTest& test) {
  if (!op.batch) {
    EXPECT_TRUE(op.composite) << "no batching rule";
    return;
  }
  std::vector<TapeEntry> calls;
  for (int64_t i = 0; i < kBatch; ++i)
    calls.push_back(recorded_call(op, c, dtype, 10 + static_cast<uint64_t>(i)));
  const size_t count = calls[0].inputs.size();
  const unsigned all = (1u << count) - 1;
  // A kernel of one side adds in another order than the reference body of the other.
  const Tolerance tolerance{.ulp = 2, .absolute = std::max(2.0, c.tolerance.absolute)};
  unsigned refusable = 0, by_place = 0;
  for (const size_t i : test.unbatched) refusable |= 1u << i;
  for (const size_t i : test.by_place) by_place |= 1u << i;
  for (unsigned subset = 1; subset <= all; ++subset) {
    const bool single = (subset & (subset - 1)) == 0;
    if (count > 4 && !single && subset != all) continue;
    if ((subset & ~by_place) == 0) continue;
    check_subset(op, calls, subset, subset & refusable, tolerance);
  }
}

}  // namespace espalier
