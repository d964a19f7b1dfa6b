// Two inputs, two outputs, a pipeline, and a training step of one's own: of points in a square and their
// quarter it learns whether they lie in a circle, and how far from its middle.
#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  set_seed(7);
  const auto grid = meshgrid({linspace(-1, 1, 30), linspace(-1, 1, 30)});
  const Tensor points = stack({ravel(grid[0]), ravel(grid[1])}, 1);           // f32[900,2]
  const Tensor quarters = convert(points > 0, DType::kF32);                   // f32[900,2]
  const Tensor inside = convert(sum(points * points, 1) < 0.5, DType::kI32);  // i32[900]
  const Tensor distance = reshape(sqrt(sum(points * points, 1)), {900, 1});   // f32[900,1]

  const Placeholder point = Input({2}, {.name = "point"}), quarter = Input({2}, {.name = "quarter"});
  const Placeholder both =
      connect(Concatenate(), {connect(Dense({.units = 32, .activation = "relu"}), point),
                              connect(Dense({.units = 4, .activation = "relu"}), quarter)});
  Functional model({point, quarter}, {connect(Dense({.units = 2, .name = "inside"}), both),
                                      connect(Dense({.units = 1, .name = "distance"}), both)});

  // By fit: a loss for each output.
  model.compile({.optimizer = Adam{.learning_rate = 0.01},
                 .outputs = {{.name = "inside", .metrics = {"accuracy"}},
                             {.name = "distance", .loss = MeanSquaredError(), .metrics = {"mae"}}}});
  model.fit({points, quarters}, {inside, distance}, {.epochs = 5, .validation_split = 0.1});

  // By hand: elements that are read ahead, a step under a tape, an optimizer that applies its gradients.
  const Dataset batches =
      Dataset::from_tensor_slices({points, quarters, inside, distance}).shuffle(900).batch(64).prefetch(2);
  const Loss of_class = SparseCategoricalCrossentropy({.from_logits = true}), of_number = MeanSquaredError();
  Optimizer optimizer(Adam{.learning_rate = 0.01});
  for (int epoch = 0; epoch < 15; ++epoch) {
    for (const Tensors& batch : batches) {
      const TrainingScope training(true);  // dropouts drop, normalisations take the batch's statistics
      GradientTape tape;
      const Tensors said = model.apply({batch[0], batch[1]});
      const Tensor loss = of_class.sums(batch[2], said[0]).mean() + of_number.sums(batch[3], said[1]).mean();
      optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    }
  }
  for (const auto& [name, value] : model.evaluate({points, quarters}, {inside, distance}))
    std::cout << name << " " << value << "\n";
}
