// Layers: functions of tensors with variables.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/initializers.h"
#include "espalier/random.h"
#include "espalier/regularizers.h"
#include "espalier/tensor_function.h"
#include "espalier/variable.h"

namespace espalier {

class FirstValues;

// Sets the seed of initial values and shuffles in the current RunContext (at first its own, the process's 0),
// and numbers its layers without a parent from the start again, so that what follows repeats. Each variable
// draws from the stream of its path: adding a layer of another name does not change the values of the others.
void set_seed(uint64_t seed);
uint64_t seed();

// True inside fit's training step: Dropout drops, BatchNormalization uses the batch's statistics.
class TrainingScope {
 public:
  explicit TrainingScope(bool training);
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;
  static bool current();

 private:
  bool before_;
};

// What a layer computes in and what it keeps its variables in, by Keras' names: "float32", "bfloat16",
// "float16" (both the same), "mixed_bfloat16" and "mixed_float16" (compute in 16 bits from f32 variables). A
// model whose own policy computes in float16 is trained under a loss scale (ModelOptions::loss_scale). A
// layer casts floating-point inputs and variables to compute_dtype() where it uses them and gives outputs of
// it; integers stay as they are; gradients and optimizer state have variable_dtype(). Losses and metrics of
// fit and evaluate are f32. From Keras' DTypePolicy.
class DTypePolicy {
 public:
  // The one of set_dtype_policy.
  DTypePolicy();
  // Raises ValueError[dtype_policy.name] for another name.
  DTypePolicy(const std::string& name, Location at = Location::here());
  DTypePolicy(const char* name, Location at = Location::here()) : DTypePolicy(std::string(name), at) {}
  const char* name() const;
  DType compute_dtype() const;
  DType variable_dtype() const;
  bool operator==(const DTypePolicy&) const = default;

 private:
  friend void set_dtype_policy(DTypePolicy policy);
  uint8_t row_ = 0;
};
// Sets the policy of this process (default "float32") for layers that are made from now on and name none of
// their own.
void set_dtype_policy(DTypePolicy policy);
DTypePolicy dtype_policy();
// The same by Keras' names.
namespace mixed_precision {
inline void set_global_policy(DTypePolicy policy) { set_dtype_policy(policy); }
inline DTypePolicy global_policy() { return dtype_policy(); }
}  // namespace mixed_precision

// By Keras' names: "linear", "relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "softplus", "sigmoid",
// "softmax", "tanh", "exponential". Raises ValueError[activation.name].
std::function<Tensor(const Tensor&)> activation(const std::string& name, Location at = Location::here());

// The base of all layers. A layer is a handle: copies share weights, whether they are made before or after
// the first call. At its first call it learns its path (the path of the layer that calls it, or the enclosing
// NameScope, then its own name, made unique there) and builds its variables. A layer that several layers call
// belongs to each of them and keeps its first path. A refused call changes nothing: what it built is
// forgotten, also in the layers that were called. Its dtype policy says which dtypes call() sees:
// floating-point inputs and weights arrive in the compute dtype. Subclasses hold layers as members and call
// them:
//
//     struct Block : Layer {
//       Dense hidden{{.units = 64, .activation = "relu"}}, out{{.units = 10}};
//       Tensor call(const Tensor& x) override { return out(hidden(x)); }
//     };
//
// Variables of their own are made in build(), which sees the first input, and found again by name:
//
//     struct Scale : Layer {
//       void build(const TensorType& x) override { add_weight("factor", {x.shape.back()},
//       initializer("ones")); } Tensor call(const Tensor& x) override { return x * weight("factor"); }
//     };
//
// So are generators of random numbers, whose state is saved with the layer:
//
//     struct Noise : Layer {
//       void build(const TensorType&) override { add_generator("noise"); }
//       Tensor call(const Tensor& x) override { return x + generator("noise").normal(x.shape()); }
//     };
//
// A layer of several tensors, which is called as layer({a, b}), has build_many() and call_many() instead:
//
//     struct Difference : Layer {
//       Tensors call_many(Inputs<Tensor> x) override { return {x[0] - x[1]}; }
//     };
class Layer {
 public:
  // Raises ValueError[layer.name] for an empty name.
  explicit Layer(std::string name = "layer", DTypePolicy dtype = {}, Location at = Location::here());
  virtual ~Layer() = default;
  // Copies only, no moves: a layer that was moved from can still be called.
  Layer(const Layer&) = default;
  Layer& operator=(const Layer&) = default;

  // Raises ValueError[layer.inputs] for a number of tensors that call() does not take,
  // ValueError[layer.outputs] unless the layer gives one.
  Tensor operator()(const TensorList& inputs);
  // All that the layer gives.
  Tensors apply(const TensorList& inputs);
  // What it was called when it was made.
  const std::string& name() const;
  // Empty before the first call.
  const std::string& path() const;
  // Variables of this layer and of the layers it called, in the order they were built, each once.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  // Those that were made to be trained, frozen now or not.
  std::vector<Variable> made_trainable() const;
  // The penalties of regularizers on trainable weights as they are now, f32[] each; fit and evaluate add them
  // to the loss. Raises ShapeError[layer.regularizer] for one that is no scalar.
  std::vector<Tensor> losses() const;
  // A weight and what was given to regularize().
  struct Regularized {
    Variable weight;
    Regularizer regularizer;
    // f32[], of the weight's value in f32. Raises ShapeError[layer.regularizer] for another type.
    Tensor penalty(const Tensor& value) const;
  };
  // All of them, trainable or not, in the order of variables().
  std::vector<Regularized> regularized() const;
  // Freezes (false) or thaws the variables of this layer and of all layers below, also those that are built
  // later: gradients and optimizers leave them alone, and BatchNormalization uses its averages. Variables
  // that were made not to be trained stay so.
  void set_trainable(bool trainable);
  bool trainable() const;
  // Whether this layer, or one below, says couples_rows(). Before its first call a layer does not know those
  // below: true.
  bool rows_are_coupled() const;
  // Whether this layer, or one below that it has called, computes in that dtype.
  bool computes_in(DType dtype) const;
  DTypePolicy dtype_policy() const;
  DType compute_dtype() const { return dtype_policy().compute_dtype(); }
  DType variable_dtype() const { return dtype_policy().variable_dtype(); }

 protected:
  // What the layer was called with, in order: tensors in call_many(), their types in build_many(). Raises
  // ValueError[layer.inputs] where it is asked for one that the call did not bring.
  template <class T>
  class Inputs : public std::span<const T> {
   public:
    using std::span<const T>::span;
    const T& operator[](size_t i) const {
      if (i >= this->size()) missing_input(i, this->size());
      return std::span<const T>::operator[](i);
    }
  };
  // Makes variables from the type of the first input, through add_weight. Runs once for each copy, and anew
  // after a refused first call.
  virtual void build(const TensorType&) {}
  virtual Tensor call(const Tensor& x);
  // The same for a layer of several tensors. By default they take one, and build() sees the first.
  virtual void build_many(Inputs<TensorType> inputs) { build(inputs[0]); }
  virtual Tensors call_many(Inputs<Tensor> inputs);
  // Whether a row of the outputs depends on other rows of the batch, as under statistics of the batch. Then
  // row_weight() says in call() which rows are there.
  virtual bool couples_rows() const { return false; }
  // In steps of fit and evaluate, f32[rows of the batch]: 0 for rows of weight 0, which are not there (they
  // pad the batch, and hold what a row that counts holds), else 1. Undefined where all rows count, and
  // outside of steps. Raises ShapeError[layer.row_weight] where `x` has another number of rows than the
  // batch.
  Tensor row_weight(const Tensor& x) const;
  // The variable `name` of this layer and its copies, in variable_dtype(), made when there is none. With
  // `autocast`, reading it in call() gives compute_dtype(); assigning takes variable_dtype() always. Raises
  // ShapeError[layer.weight] when it has another shape, StateError[layer.weight] before the first call.
  Variable add_weight(const std::string& name, const Shape& shape, const Initializer& initial,
                      bool trainable = true, bool autocast = true, Location at = Location::here());
  // The same from its value, in the value's dtype.
  Variable add_variable(const std::string& name, const Tensor& value, bool trainable = true,
                        bool autocast = true, Location at = Location::here());
  // The generator `name` of this layer and its copies, made when there is none: from `seed`, or from seed()
  // and the path of the layer. Its state is two variables of the layer, NAME/key and NAME/step, so that
  // checkpoints and saved models hold it (Keras' SeedGenerator). Raises StateError[layer.weight] before the
  // first call.
  Generator add_generator(const std::string& name, std::optional<uint64_t> seed = {},
                          Location at = Location::here());
  // The one that add_generator made. Raises ValueError[layer.weight] when there is none.
  Generator generator(const std::string& name, Location at = Location::here()) const;
  // Makes losses() hold the penalty on that weight, unless the regularizer is empty. Raises
  // ValueError[layer.weight] when there is no such weight.
  void regularize(const std::string& name, const Regularizer& regularizer, Location at = Location::here());
  // The variable that add_weight made. Raises ValueError[layer.weight] when there is none.
  Variable weight(const std::string& name, Location at = Location::here()) const;
  // What the layer was built for: the types of its first inputs. Empty before.
  std::vector<TensorType> input_types() const;
  // From now on call() gets inputs as they are.
  void keep_input_dtype();
  // From now on a call brings as many tensors as the first one: another number is ValueError[layer.inputs].
  void keep_input_count();

 private:
  friend void begin_with(const Layer& layer, std::shared_ptr<FirstValues> first);
  [[noreturn]] static void missing_input(size_t wanted, size_t given);
  struct State;
  std::shared_ptr<State> state_;
  uint64_t built_ = 0;  // the build of state_ that this copy has made its own
};

// The `{}` of `ReLU({})`, which without it could mean a copy of ReLU() as well: all options by default.
enum class NoOptions {};

// Along height and width, as Keras takes it: `3` is {3, 3}.
struct HeightWidth : Dims {
  using Dims::Dims;
  HeightWidth() = default;
  HeightWidth(int64_t both) : Dims{both, both} {}
  HeightWidth(const Dims& sizes) : Dims(sizes) {}
};

struct DenseOptions {
  int64_t units = 1;
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "dense";
  DTypePolicy dtype = {};
};
// activation(x . kernel + bias) on the last axis: x f[batch, ..., n] gives f[batch, ..., units]. Raises
// ShapeError[dense.rank] for one axis, [dense.features] for another n than at first, DTypeError[dense.dtype]
// for integers.
class Dense : public Layer {
 public:
  // Raises ValueError for options outside of their range and unknown names.
  explicit Dense(DenseOptions options, Location at = Location::here());

 protected:
  void build(const TensorType& input) override;
  Tensor call(const Tensor& x) override;

 private:
  DenseOptions options_;
};

// f[batch, ...] gives f[batch, product of the rest].
class Flatten : public Layer {
 public:
  explicit Flatten(DTypePolicy dtype = {}) : Layer("flatten", dtype) {}

 protected:
  Tensor call(const Tensor& x) override;
};

// An activation by name as a layer.
class Activation : public Layer {
 public:
  // Raises ValueError[activation.name].
  explicit Activation(const std::string& name, DTypePolicy dtype = {}, Location at = Location::here())
      : Layer(name, dtype, at), function_(activation(name, at)) {}

 protected:
  Tensor call(const Tensor& x) override { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

// While training, each element is zero with probability `rate` and the others grow by 1 / (1 - rate); else x
// itself. Under a strategy a row drops what one device drops of it, whichever axis of x is the batch.
class Dropout : public Layer {
 public:
  // Raises ValueError unless 0 <= rate < 1.
  explicit Dropout(double rate, std::string name = "dropout", DTypePolicy dtype = {},
                   Location at = Location::here());

 protected:
  Tensor call(const Tensor& x) override;

 private:
  double rate_;
};

struct BatchNormalizationOptions {
  int64_t axis = -1;  // of the features
  double momentum = 0.99;
  double epsilon = 1e-3;
  // Under a strategy (strategy.h), by the rows of all replicas in the place of each one's own: two messages a
  // layer and step. Refused with logical shards.
  bool synchronized = false;
  std::string name = "batch_normalization";
  DTypePolicy dtype = {};
};
// Zero mean and unit variance for each feature, then gamma and beta: by the batch while training, which also
// moves the averages (moving = momentum * moving + (1 - momentum) * batch), by the averages otherwise; a
// batch of no elements moves nothing. Rows of weight 0 are not there; other weights of rows do not count for
// the statistics, as in Keras. With a momentum of 0.99 the averages need some hundreds of steps until
// they are those of the data: after fewer, what is evaluated and predicted is worse than what was trained,
// and 0.9 serves better. bf16 is normalised in f32 and rounded once; gamma, beta and the
// averages are used in variable_dtype().
class BatchNormalization : public Layer {
 public:
  // Raises ValueError unless 0 <= momentum <= 1.
  explicit BatchNormalization(BatchNormalizationOptions options = {}, Location at = Location::here());
  explicit BatchNormalization(NoOptions, Location at = Location::here())
      : BatchNormalization(BatchNormalizationOptions(), at) {}

 protected:
  void build(const TensorType& input) override;
  Tensor call(const Tensor& x) override;
  bool couples_rows() const override { return true; }

 private:
  BatchNormalizationOptions options_;
};

struct ReLUOptions {
  double max_value = std::numeric_limits<double>::infinity();
  double negative_slope = 0;
  double threshold = 0;
  std::string name = "re_lu";
  DTypePolicy dtype = {};
};
// min(x, max_value) where x > threshold, else negative_slope * (x - threshold). From Keras' ReLU.
class ReLU : public Layer {
 public:
  // Raises ValueError for an option below 0.
  explicit ReLU(ReLUOptions options = {}, Location at = Location::here());
  explicit ReLU(NoOptions, Location at = Location::here()) : ReLU(ReLUOptions(), at) {}

 protected:
  Tensor call(const Tensor& x) override;

 private:
  ReLUOptions options_;
};

// [batch, ...] gives [batch, target_shape...]; one size may be -1, which stands for what is left. Raises
// ShapeError[reshape.elements] when a row has another number of elements.
class Reshape : public Layer {
 public:
  // Raises ValueError[reshape.target] for a size below -1 and for -1 twice.
  explicit Reshape(Shape target_shape, std::string name = "reshape", DTypePolicy dtype = {},
                   Location at = Location::here());

 protected:
  Tensor call(const Tensor& x) override;

 private:
  Shape target_shape_;
};

struct LayerNormalizationOptions {
  Dims axis = {-1};  // taken together; not the first, which is the batch
  double epsilon = 1e-3;
  bool center = true;  // adds beta
  bool scale = true;   // multiplies with gamma
  std::string name = "layer_normalization";
  DTypePolicy dtype = {};
};
// (x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each row over `axis`; gamma
// and beta have the shape of these axes, in ascending order. bf16 is normalised in f32 and rounded once;
// gamma and beta are used in variable_dtype(). From Keras' LayerNormalization. Raises
// ShapeError[layer_normalization.axis] for an axis that x has not, twice the same, and the first one.
class LayerNormalization : public Layer {
 public:
  // Raises ValueError for an epsilon below 0 and for no axis.
  explicit LayerNormalization(LayerNormalizationOptions options = {}, Location at = Location::here());
  explicit LayerNormalization(NoOptions, Location at = Location::here())
      : LayerNormalization(LayerNormalizationOptions(), at) {}

 protected:
  void build(const TensorType& input) override;
  Tensor call(const Tensor& x) override;

 private:
  Dims axes(const TensorType& x) const;
  LayerNormalizationOptions options_;
};

struct EmbeddingOptions {
  int64_t input_dim = 1;  // rows: ids lie in [0, input_dim)
  int64_t output_dim = 1;
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  std::string name = "embedding";
  DTypePolicy dtype = {};
};
// Integer ids [...] give rows f[..., output_dim], taken in variable_dtype() and then cast. Raises
// DTypeError[embedding.dtype] when it is built for ids that are no integers. An id that is none is refused,
// as a label that is no class: ValueError[embedding.ids] in an eager call, and where ids are an input of the
// model [fit.ids], [fit.validation_ids], [train_on_batch.ids], [evaluate.ids], [predict.ids], before the
// first step on arrays, before the step of the batch that holds it on a dataset. Where a traced call computes
// its ids from others, those that are none give rows of NaN.
class Embedding : public Layer {
 public:
  // Raises ValueError for sizes below 1 and unknown names.
  explicit Embedding(EmbeddingOptions options, Location at = Location::here());

 protected:
  void build(const TensorType& input) override;
  Tensor call(const Tensor& ids) override;

 private:
  EmbeddingOptions options_;
};

struct Conv2DOptions {
  int64_t filters = 1;
  HeightWidth kernel_size = 3;
  HeightWidth strides = 1;
  std::string padding = "valid";  // or "same": output size is input size / stride, rounded up
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "conv2d";
  DTypePolicy dtype = {};
};
// f[batch, height, width, channels] gives f[batch, height', width', filters]. Raises
// ShapeError[conv2d.window] when a "valid" window is larger than the image, DTypeError[conv2d.dtype] for
// pixels that are integers.
class Conv2D : public Layer {
 public:
  // Raises ValueError for options outside of their range and unknown names.
  explicit Conv2D(Conv2DOptions options, Location at = Location::here());

 protected:
  void build(const TensorType& input) override;
  Tensor call(const Tensor& x) override;

 private:
  Conv2DOptions options_;
};

}  // namespace espalier
