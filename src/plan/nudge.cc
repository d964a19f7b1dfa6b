#include "plan/nudge.h"

#include <cmath>

#include "base/philox.h"

namespace espalier {
namespace {

class NudgeCallback final : public Callback {
 public:
  explicit NudgeCallback(uint64_t seed) : seed_(seed) {}
  void on_epoch_begin(int epoch) override { epoch_ = epoch; }
  // The place of a step in the run says how, so that one that goes on goes on alike.
  void on_batch_end(int64_t step, const Logs&) override {
    Philox bits(seed_, static_cast<uint64_t>(epoch_) << 32 | static_cast<uint64_t>(step));
    for (Variable variable : model().trainable_variables()) {
      if (variable.dtype() != DType::kF32) continue;
      std::vector<float> values = variable.read().to_vector<float>();
      for (float& value : values) {
        const float way = bits.next() & 1 ? INFINITY : -INFINITY;
        if (value != 0) value = std::nextafter(value, way);
      }
      variable.assign(Tensor::of(values, variable.shape()));
    }
  }

 private:
  const uint64_t seed_;
  int epoch_ = 0;
};

}  // namespace

std::shared_ptr<Callback> Nudge(uint64_t seed) { return std::make_shared<NudgeCallback>(seed); }

}  // namespace espalier
