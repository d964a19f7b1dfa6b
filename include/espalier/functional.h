// Functional models: layers connected to placeholders.
//
//     const Placeholder a = Input({8}), b = Input({8});
//     Dense tower({.units = 4});  // one set of weights
//     const Placeholder both = connect(Concatenate(), {connect(tower, a), connect(tower, b)});
//     Functional model({a, b}, {connect(Dense({.units = 1}), both)});
//     const Tensor y = model({x_a, x_b});
#pragma once

#include <string>
#include <vector>

#include "espalier/model.h"

namespace espalier {

// Stands for a tensor that a functional model will be given, or that one of its layers will make. What it
// comes from exists before it, so there are no cycles.
class Placeholder {
 public:
  // Output i of the layer behind this, for layers that give several. Raises ValueError[functional.output] for
  // an input, with the line of Input(); the layer is asked when the model runs.
  Placeholder operator[](size_t i) const;

 private:
  friend class Functional;
  friend Placeholder Input(const Shape&, struct InputOptions, Location);
  friend Placeholder connect_layer(std::shared_ptr<Layer>, std::vector<Placeholder>, Location);
  static constexpr size_t kOnly = static_cast<size_t>(-1);  // the layer must give one tensor
  struct Origin;
  explicit Placeholder(std::shared_ptr<const Origin> origin, size_t output = kOnly)
      : origin_(std::move(origin)), output_(output) {}
  std::shared_ptr<const Origin> origin_;
  size_t output_;
};

struct InputOptions {
  std::string name = "input";
  DType dtype = DType::kF32;  // a floating-point one stands for all of them
};
// What a model is given: `shape` is that of a row, without the batch; -1 stands for any size, which in a
// saved model is that of the first call. Raises ValueError[input.shape] for a size below -1.
Placeholder Input(const Shape& shape, InputOptions options = {}, Location at = Location::here());

Placeholder connect_layer(std::shared_ptr<Layer> layer, std::vector<Placeholder> inputs, Location at);
// What `layer` makes of `inputs`. Layers are handles: one that is connected twice has one set of weights.
// Where all sizes are known, the layer is called without numbers, on batches of any size and not for
// training, and what that builds is forgotten: raises what a layer of the library says of shapes and dtypes,
// of a batch of 32 rows. Calls raise the rest, what a user's layer says too, and name the line of connect()
// as well.
template <class L>
requires(std::is_base_of_v<Layer, L>) Placeholder
    connect(L layer, std::vector<Placeholder> inputs, Location at = Location::here()) {
  return connect_layer(std::make_shared<L>(std::move(layer)), std::move(inputs), at);
}
template <class L>
requires(std::is_base_of_v<Layer, L>) Placeholder
    connect(L layer, const Placeholder& input, Location at = Location::here()) {
  return connect_layer(std::make_shared<L>(std::move(layer)), {input}, at);
}

// The layers between `inputs` and `outputs` as a model, from as many tensors as inputs to as many as outputs.
// Each casts its inputs by its own dtype policy and runs once a call, in Keras' order: the farther from the
// outputs the sooner, then first inputs first; so are variables() and the numbers of names. Any placeholder
// can be an input; what lies before it does not run. Calls raise ValueError[functional.inputs] for another
// number of tensors, ShapeError[functional.shape] and DTypeError[functional.dtype] for one that is not as its
// Input says, ValueError[functional.output] for an output that a layer does not give.
class Functional : public Model {
 public:
  // Raises ValueError[functional.inputs] when there is none, one twice, or when an output depends on an Input
  // that is not among them, ValueError[functional.outputs] when there is none.
  Functional(const std::vector<Placeholder>& inputs, const std::vector<Placeholder>& outputs,
             std::string name = "functional", Location at = Location::here());
  // The names of the Inputs, or layers, that give the inputs and the outputs; one that stood before becomes
  // x_1.
  std::vector<std::string> input_names() const override;
  std::vector<std::string> output_names() const override;

 protected:
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  struct Plan;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace espalier
