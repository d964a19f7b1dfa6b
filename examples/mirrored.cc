// Trains on two devices of this machine: the program for one device, and two lines.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  const strategy::Mirrored devices({.devices = 2});
  const auto scope = devices.scope();
  const Tensor x = random_normal({1024, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  Sequential model{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 64});
  std::printf("loss %.4f, at first %.4f\n", epochs.back().at("loss"), epochs.front().at("loss"));
}
