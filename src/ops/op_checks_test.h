// The parts of check_op() that are files of their own.
#pragma once

#include "grad/grad.h"
#include "ops/op_test.h"

namespace espalier {

// Keeps the calls it sees; of one op alone when `only` is given.
class CallLog final : public Recorder {
 public:
  explicit CallLog(const OpDef* only = nullptr);
  void record(const Call& call, std::span<const Tensor> outputs) override;
  std::vector<TapeEntry> calls;

 private:
  const OpDef* only_;
};

Tensor to_tensor(const TensorType& type, const std::vector<double>& values);
void expect_same_bytes(const Tensor& a, const Tensor& b, const std::string& what);

void check_gradient(const OpDef& op, const OpCase& c);
void check_batching(const OpDef& op, const OpCase& c, DType dtype, const OpTest& test);
void check_decomposition(const OpDef& op, const OpCase& c, DType dtype);

}  // namespace espalier
