// Trains on all chips of a TPU, or on other devices that are named: ./tpu xla-cpu. Without them, says what is
// missing.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main(int count, char** words) try {
  const TPUClusterResolver resolver({.device = count > 1 ? words[1] : "tpu"});
  connect_to_cluster(resolver);
  const TPUSystem system = initialize_tpu_system(resolver);
  const strategy::TPU tpu(resolver);
  const auto scope = tpu.scope();
  Sequential model{Dense({.units = 512, .activation = "relu", .dtype = "mixed_bfloat16"}),
                   Dense({.units = 10})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = random_normal({4096, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 256});
  std::printf("%d replicas on devices of kind %s: loss %.4f, at first %.4f\n", tpu.num_replicas_in_sync(),
              system.kind.c_str(), epochs.back().at("loss"), epochs.front().at("loss"));
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.message().c_str()), 1;
}
