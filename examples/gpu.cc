// Trains on a GPU, or on the device that is named: ./gpu xla-cpu. Without it, says what is missing.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main(int count, char** words) try {
  for (const PhysicalDevice& device : list_physical_devices())
    std::printf("%-10s %s\n", device.name.c_str(), device.description.c_str());
  const std::string name = count > 1 ? words[1] : "gpu";
  set_memory_growth(name, true);
  const DeviceScope scope(name);
  const Tensor x = random_normal({4096, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  Sequential model{Dense({.units = 512, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 256});
  std::printf("loss %.4f, at first %.4f; %lld bytes at most\n", epochs.back().at("loss"),
              epochs.front().at("loss"), static_cast<long long>(memory_info(name).peak));
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
