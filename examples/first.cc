#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  // 900 points of a square, labelled by whether they lie in a circle.
  const auto grid = meshgrid({linspace(-1, 1, 30), linspace(-1, 1, 30)});
  const Tensor x = stack({ravel(grid[0]), ravel(grid[1])}, 1);
  const Tensor inside = convert(sum(x * x, 1) < 0.5, DType::kI32);

  Sequential model{Dense({.units = 32, .activation = "relu"}), Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.01}});
  model.fit(x, inside, {.epochs = 20});
  std::cout << "accuracy: " << model.evaluate(x, inside).at("accuracy") << "\n";

  // Tensors work at once: values, then their shape; parts of them are taken as in NumPy.
  const Tensor table = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  std::cout << index(table, {kEllipsis, Slice{1, 3}}) << "\n";

  // A tape differentiates what was done with variables, and an optimizer applies that to them.
  Variable weights(Tensor::of<float>({0.5f, -2}));
  GradientTape tape;
  const Tensor loss = sum(square(weights));
  Optimizer(SGD{.learning_rate = 0.25}).apply({tape.gradient(loss, weights)}, {weights});
  std::cout << weights.read() << "\n";
}
