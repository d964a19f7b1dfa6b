// Layers that compute in bfloat16 and keep their weights in float32; the last one is of float32.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main(int count, char** words) try {
  const DeviceScope scope(count > 1 ? words[1] : "gpu");  // "cpu" computes bfloat16, too
  mixed_precision::set_global_policy("mixed_bfloat16");
  const Tensor x = random_normal({4096, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  Sequential model{Dense({.units = 512, .activation = "relu"}), Dense({.units = 10, .dtype = "float32"})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 256});
  std::printf("loss %.4f, at first %.4f\n", epochs.back().at("loss"), epochs.front().at("loss"));
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
