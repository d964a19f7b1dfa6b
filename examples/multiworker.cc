// Trains on the workers that `espalier launch -n 4 -- build/release/example_multiworker` starts: two lines
// differ from the program for one device.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  const Tensor x = random_normal({1024, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  Sequential model{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 64});
  std::printf("loss %.4f, at first %.4f\n", epochs.back().at("loss"), epochs.front().at("loss"));
}
