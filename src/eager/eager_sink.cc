#include "runtime/execute.h"

namespace espalier {
namespace {

class EagerSink final : public Sink {
 public:
  std::vector<Tensor> emit(const Call& call) override { return execute(call, RunContext::current()); }
};

}  // namespace

Sink& eager_sink() {
  static EagerSink sink;
  return sink;
}

}  // namespace espalier
