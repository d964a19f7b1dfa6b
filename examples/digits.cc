// Trains a network on handwritten digits. usage: example_digits [FOLDER of MNIST]
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  const auto [train, test] = load_digits(argc > 1 ? argv[1] : "build/data/mnist").split(8000);

  Sequential model{Flatten(), Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{.learning_rate = 1e-3},
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(train.x, train.y, {.epochs = 5, .batch_size = 64, .callbacks = {ConsoleProgress()}});

  std::printf("accuracy on %ld images it never saw: %.4f\n", static_cast<long>(test.rows()),
              model.evaluate(test.x, test.y).at("accuracy"));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
