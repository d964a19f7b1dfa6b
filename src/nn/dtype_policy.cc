#include <atomic>

#include "base/find_named.h"
#include "base/format.h"
#include "eager/trace.h"
#include "espalier/layers.h"

namespace espalier {
namespace {

struct Row {
  const char* name;
  DType compute, variable;
};
constexpr Row kPolicies[] = {
    {"float32", DType::kF32, DType::kF32},         {"bfloat16", DType::kBF16, DType::kBF16},
    {"mixed_bfloat16", DType::kBF16, DType::kF32}, {"float16", DType::kF16, DType::kF16},
    {"mixed_float16", DType::kF16, DType::kF32},
};
std::atomic<uint8_t> of_process{0};

// Of traces that make layers.
const StructurePtr& structure_of_policy() {
  static const auto structure = std::make_shared<Structure>();
  return structure;
}

}  // namespace

DTypePolicy::DTypePolicy() : row_(of_process) { Trace::depend_on(structure_of_policy()); }

DTypePolicy::DTypePolicy(const std::string& name, Location at) {
  const CallScope scope(at);
  row_ = static_cast<uint8_t>(&find_named("dtype_policy.name", "dtype policy", name, kPolicies) - kPolicies);
}

const char* DTypePolicy::name() const { return kPolicies[row_].name; }
DType DTypePolicy::compute_dtype() const { return kPolicies[row_].compute; }
DType DTypePolicy::variable_dtype() const { return kPolicies[row_].variable; }

void set_dtype_policy(DTypePolicy policy) {
  if (of_process.exchange(policy.row_) != policy.row_) structure_of_policy()->bump();
}
DTypePolicy dtype_policy() { return {}; }

}  // namespace espalier
