#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  const Tensor x = random_normal({1000, 20}, 1, 0), y = convert(sum(x, 1) > 0, DType::kI32);
  Sequential model{Dense({.units = 32, .activation = "relu"}), Dense({.units = 2})};
  Optimizer optimizer = Adam{.learning_rate = 0.01};
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  Metric accuracy("accuracy");
  const auto step = function([&](const Tensor& rows, const Tensor& labels) {
    GradientTape tape;
    const Tensor outputs = model(rows);
    const LossSums sums = loss.sums(labels, outputs);
    const Tensor count = strategy::all_reduce({sums.weight})[0];
    const auto weights = model.trainable_variables();
    optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / count, weights)), weights);
    accuracy.update(labels, outputs);
  });
  auto batches = workers.distribute(Dataset::from_tensor_slices({x, y}).shuffle(1000).repeat(5).batch(64));
  while (const auto batch = batches.next()) workers.run(step, *batch);
  if (workers.worker() == 0) std::cout << "accuracy: " << accuracy.result() << "\n";
}
