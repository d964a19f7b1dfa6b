// A loop of one's own that keeps what fit promises, on the workers that `espalier launch -n 2 --
// build/release/example_loop FOLDER` starts: logical shards give it the bits of one, and it goes on where a
// launch that was told to go has saved it.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) {
  const strategy::MultiWorkerMirrored workers({.logical_shards = 4});
  const auto scope = workers.scope();
  set_seed(1);
  const Tensor x = random_normal({1000, 20}, 1, 0), y = argmax(matmul(x, random_normal({20, 3}, 2, 0)), 1);
  Sequential model{Dense({.units = 32, .activation = "relu"}), Dropout(0.2), Dense({.units = 3})};
  Optimizer optimizer = Adam{.learning_rate = 0.01};
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  Metric accuracy("accuracy");
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) {
        const TrainingScope training(true);
        GradientTape tape;
        const Tensor outputs = model(rows);
        const LossSums sums = loss.sums(labels, outputs);
        const auto weights = model.trainable_variables();
        const Tensor count = strategy::all_reduce({sums.weight})[0];
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / count, weights)), weights);
        accuracy.update(labels, outputs);
      },
      {.name = "step"});
  auto batches = workers.distribute(Dataset::from_tensor_slices({x, y}).shuffle(1000).repeat(5).batch(64));
  int64_t calls = 0;
  CheckpointManager checkpoints(argc > 1 ? argv[1] : "loop", {{"model", model},
                                                              {"optimizer", optimizer},
                                                              {"accuracy", accuracy},
                                                              {"batches", batches},
                                                              {"calls", calls}});
  checkpoints.restore();
  while (const auto batch = batches.next()) {
    workers.run(step, *batch);
    if (++calls % 50 == 0 || workers.told_to_go()) checkpoints.save();
    if (workers.told_to_go()) return workers.kPreempted;
  }
  checkpoints.save();
  if (workers.worker() == 0) std::printf("accuracy %.9f\n", accuracy.result());
}
