#include "eager/single_ops.h"
#include "ir/device.h"
#include "ir/remote_tensors.h"
#include "runtime/execute.h"

namespace espalier {
namespace {

class EagerSink final : public Sink {
 public:
  std::vector<Tensor> emit(const Call& call) override {
    if (!has_remote_tensors.load(std::memory_order_relaxed)) return execute(call, RunContext::current());
    return emit_by_place(call, RunContext::current());
  }

 private:
  static std::vector<Tensor> emit_by_place(const Call& call, const RunContext& context) {
    bool all_move = true;
    for (const Tensor& input : call.inputs) {
      const TensorNode& node = *input.node();
      if (node.remote()) return execute_there(call, node.remote()->device(), context);
      all_move = all_move && node.moves();
    }
    std::vector<Tensor> out = execute(call, context);
    if (all_move) {
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
