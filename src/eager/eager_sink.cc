#include <algorithm>

#include "eager/single_ops.h"
#include "ir/device.h"
#include "runtime/execute.h"

namespace espalier {
namespace {

class EagerSink final : public Sink {
 public:
  std::vector<Tensor> emit(const Call& call) override {
    for (const Tensor& input : call.inputs) {
      if (input.node()->remote()) return execute_there(call, input.node()->remote()->device());
    }
    std::vector<Tensor> out = execute(call, RunContext::current());
    if (std::ranges::all_of(call.inputs, [](const Tensor& input) { return input.node()->moves(); })) {
      for (const Tensor& result : out) result.node()->let_move();
    }
    return out;
  }
};

}  // namespace

Sink& eager_sink() {
  static EagerSink sink;
  return sink;
}

}  // namespace espalier
