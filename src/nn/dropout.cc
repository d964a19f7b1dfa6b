#include "base/format.h"
#include "base/shortest.h"
#include "espalier/layers.h"
#include "espalier/ops.h"
#include "espalier/random.h"

namespace espalier {

Dropout::Dropout(double rate, std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), rate_(rate) {
  const CallScope scope(at);
  if (!(rate >= 0 && rate < 1))
    throw ValueError("dropout.rate", cat("the rate must lie in [0, 1), got ", shortest(rate)));
}

Tensor Dropout::call(const Tensor& x) {
  if (!TrainingScope::current() || rate_ == 0) return x;
  Generator& generator = default_generator();
  return dropout(x, rate_, generator.key(), generator.next_step());
}

}  // namespace espalier
