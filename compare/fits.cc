// Runs drawn fits: reads a JSON object a line from standard input, prints one a line: the weights behind each
// step, the losses. scripts/compare-fits draws them, runs them in Keras as well, and compares.
//
// usage: compare_fits < FITS > RESULTS
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

Dims dims(const Json& json) { return json.get<std::vector<int64_t>>(); }

Regularizer regularizer_of(const Json& layer, const std::string& name) {
  const regularizers::L1L2Options options{layer.value(name + "_l1", 0.0), layer.value(name + "_l2", 0.0)};
  return options.l1 == 0 && options.l2 == 0 ? Regularizer() : regularizers::L1L2(options);
}

void add_layer(Sequential& model, const Json& layer) {
  const std::string type = layer.at("type");
  if (type == "Dense") {
    model.add(Dense({.units = layer.at("units"),
                     .activation = layer.at("activation"),
                     .use_bias = layer.at("use_bias"),
                     .kernel_regularizer = regularizer_of(layer, "kernel"),
                     .bias_regularizer = regularizer_of(layer, "bias")}));
  } else if (type == "Conv2D") {
    model.add(Conv2D({.filters = layer.at("filters"),
                      .kernel_size = dims(layer.at("kernel_size")),
                      .strides = dims(layer.at("strides")),
                      .padding = layer.at("padding"),
                      .activation = layer.at("activation"),
                      .use_bias = layer.at("use_bias"),
                      .kernel_regularizer = regularizer_of(layer, "kernel"),
                      .bias_regularizer = regularizer_of(layer, "bias")}));
  } else if (type == "MaxPooling2D") {
    model.add(MaxPooling2D({.pool_size = dims(layer.at("pool_size")),
                            .strides = dims(layer.at("strides")),
                            .padding = layer.at("padding")}));
  } else if (type == "AveragePooling2D") {
    model.add(AveragePooling2D({.pool_size = dims(layer.at("pool_size")),
                                .strides = dims(layer.at("strides")),
                                .padding = layer.at("padding")}));
  } else if (type == "GlobalAveragePooling2D") {
    model.add(GlobalAveragePooling2D());
  } else if (type == "BatchNormalization") {
    model.add(BatchNormalization({.momentum = layer.at("momentum"), .epsilon = layer.at("epsilon")}));
  } else if (type == "LayerNormalization") {
    model.add(LayerNormalization(
        {.epsilon = layer.at("epsilon"), .center = layer.at("center"), .scale = layer.at("scale")}));
  } else if (type == "Embedding") {
    model.add(Embedding({.input_dim = layer.at("input_dim"),
                         .output_dim = layer.at("output_dim"),
                         .embeddings_regularizer = regularizer_of(layer, "embeddings")}));
  } else if (type == "ReLU") {
    model.add(ReLU({.max_value = layer.at("max_value"),
                    .negative_slope = layer.at("negative_slope"),
                    .threshold = layer.at("threshold")}));
  } else if (type == "Activation") {
    model.add(Activation(layer.at("activation").get<std::string>()));
  } else if (type == "Dropout") {
    model.add(Dropout(layer.at("rate")));
  } else if (type == "Flatten") {
    model.add(Flatten());
  } else if (type == "Reshape") {
    model.add(Reshape(dims(layer.at("target_shape"))));
  } else {
    throw ValueError("compare.layer", cat("there is no layer ", type));
  }
}

Loss loss_of(const Json& loss) {
  const std::string type = loss.at("type");
  const bool from_logits = loss.value("from_logits", false);
  const double smoothing = loss.value("label_smoothing", 0.0);
  if (type == "SparseCategoricalCrossentropy") return SparseCategoricalCrossentropy({from_logits});
  if (type == "CategoricalCrossentropy") return CategoricalCrossentropy({from_logits, smoothing});
  if (type == "BinaryCrossentropy") return BinaryCrossentropy({from_logits, smoothing});
  if (type == "MeanSquaredError") return MeanSquaredError();
  if (type == "MeanAbsoluteError") return MeanAbsoluteError();
  if (type == "Huber") return Huber({loss.at("delta")});
  throw ValueError("compare.loss", cat("there is no loss ", type));
}

LearningRateSchedule rate_of(const Json& rate) {
  if (rate.is_number()) return rate.get<double>();
  const std::string type = rate.at("schedule");
  if (type == "CosineDecay") {
    CosineDecay out{.initial_learning_rate = rate.at("initial_learning_rate"),
                    .decay_steps = rate.at("decay_steps"),
                    .alpha = rate.at("alpha")};
    if (rate.contains("warmup_target")) {
      out.warmup_target = rate.at("warmup_target").get<double>();
      out.warmup_steps = rate.at("warmup_steps");
    }
    return out;
  }
  if (type == "ExponentialDecay")
    return ExponentialDecay{.initial_learning_rate = rate.at("initial_learning_rate"),
                            .decay_steps = rate.at("decay_steps"),
                            .decay_rate = rate.at("decay_rate"),
                            .staircase = rate.at("staircase")};
  if (type == "PiecewiseConstantDecay")
    return PiecewiseConstantDecay{.boundaries = rate.at("boundaries"), .values = rate.at("values")};
  if (type == "PolynomialDecay")
    return PolynomialDecay{.initial_learning_rate = rate.at("initial_learning_rate"),
                           .decay_steps = rate.at("decay_steps"),
                           .end_learning_rate = rate.at("end_learning_rate"),
                           .power = rate.at("power"),
                           .cycle = rate.at("cycle")};
  if (type == "WarmUp")
    return WarmUp{.steps = rate.at("steps"), .initial = rate.at("initial"), .then = rate_of(rate.at("then"))};
  throw ValueError("compare.schedule", cat("there is no schedule ", type));
}

// What all optimizers take.
template <class Options>
Options with_common(Options options, const Json& json) {
  options.learning_rate = rate_of(json.at("learning_rate"));
  options.weight_decay = json.value("weight_decay", options.weight_decay);
  options.clipnorm = json.value("clipnorm", 0.0);
  options.global_clipnorm = json.value("global_clipnorm", 0.0);
  options.clipvalue = json.value("clipvalue", 0.0);
  options.gradient_accumulation_steps = json.value("gradient_accumulation_steps", int64_t{1});
  options.use_ema = json.value("use_ema", false);
  options.ema_momentum = json.value("ema_momentum", options.ema_momentum);
  options.ema_overwrite_frequency = json.value("ema_overwrite_frequency", int64_t{0});
  options.loss_scale_factor = json.value("loss_scale_factor", 1.0);
  return options;
}

Optimizer optimizer_of(const Json& json) {
  const std::string type = json.at("type");
  if (type == "SGD")
    return with_common(SGD{.momentum = json.at("momentum"), .nesterov = json.at("nesterov")}, json);
  if (type == "Adam")
    return with_common(
        Adam{.beta_1 = json.at("beta_1"), .beta_2 = json.at("beta_2"), .epsilon = json.at("epsilon")}, json);
  if (type == "AdamW")
    return with_common(
        AdamW{.beta_1 = json.at("beta_1"), .beta_2 = json.at("beta_2"), .epsilon = json.at("epsilon")}, json);
  if (type == "RMSprop")
    return with_common(RMSprop{.rho = json.at("rho"),
                               .momentum = json.at("momentum"),
                               .epsilon = json.at("epsilon"),
                               .centered = json.at("centered")},
                       json);
  if (type == "Adagrad")
    return with_common(Adagrad{.initial_accumulator_value = json.at("initial_accumulator_value"),
                               .epsilon = json.at("epsilon")},
                       json);
  throw ValueError("compare.optimizer", cat("there is no optimizer ", type));
}

// A list of rows, each an array of `shape`.
Tensor rows_of(const Json& values, Shape shape, int64_t rows, bool whole) {
  shape.insert(0, rows);
  return whole ? Tensor::of(values.get<std::vector<int32_t>>(), shape)
               : Tensor::of(values.get<std::vector<float>>(), shape);
}

// Rows [begin, end); nothing of nothing.
Tensor part_of(const Tensor& of, int64_t begin, int64_t end) {
  if (!of.defined()) return {};
  std::vector<int64_t> first(of.shape().size(), 0), last(of.shape().begin(), of.shape().end());
  first[0] = begin;
  last[0] = end;
  return slice(of, first, last);
}

Json weights_of(const Model& model) {
  Json out = Json::array();
  for (const Variable& variable : model.variables()) out.push_back(variable.read().to_vector<float>());
  return out;
}

Json run_fit(const Json& spec) {
  set_seed(0);
  const int64_t rows = spec.at("rows"), batch = spec.at("batch_size");
  const int epochs = spec.at("epochs");
  const Tensor x = rows_of(spec.at("x"), dims(spec.at("x_shape")), rows, spec.at("x_whole"));
  const Tensor y = rows_of(spec.at("y"), dims(spec.at("y_shape")), rows, spec.at("y_whole"));
  const Tensor weight =
      spec.contains("sample_weight") ? rows_of(spec["sample_weight"], {}, rows, false) : Tensor();
  FitOptions options{.epochs = epochs, .batch_size = batch, .shuffle = false};
  if (spec.contains("class_weight")) {
    const auto factors = spec["class_weight"].get<std::vector<double>>();
    for (size_t i = 0; i < factors.size(); ++i) options.class_weight[static_cast<int64_t>(i)] = factors[i];
  }

  Sequential model;
  for (const Json& layer : spec.at("layers")) add_layer(model, layer);
  model(part_of(x, 0, 1));
  const std::vector<Variable> variables = model.variables();
  const Json& first = spec.at("weights");
  if (first.size() != variables.size())
    throw ValueError("compare.weights",
                     cat("the model has ", variables.size(), " variables, ", first.size(), " are given"));
  for (size_t i = 0; i < variables.size(); ++i) {
    Variable variable = variables[i];
    variable.assign(Tensor::of(first[i].get<std::vector<float>>(), variable.shape()));
  }
  const Optimizer optimizer = optimizer_of(spec.at("optimizer"));
  model.compile({.optimizer = optimizer,
                 .loss = loss_of(spec.at("loss")),
                 .metrics = {},
                 .logical_shards = spec.value("logical_shards", 0)});

  Json steps = Json::array(), losses = Json::array();
  const std::string way = spec.at("way");
  if (way == "steps") {
    Optimizer updates = optimizer;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int64_t begin = 0; begin < rows; begin += batch) {
        const int64_t end = std::min(rows, begin + batch);
        losses.push_back(
            model.train_on_batch(part_of(x, begin, end), part_of(y, begin, end), part_of(weight, begin, end))
                .at("loss"));
        steps.push_back(weights_of(model));
      }
    }
    updates.finalize_variables(model.trainable_variables());
  } else {
    options.callbacks = {
        LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) { steps.push_back(weights_of(model)); }})};
    std::vector<Logs> history;
    if (way == "dataset") {
      options.weighted = weight.defined();
      const TensorList parts = weight.defined() ? TensorList{x, y, weight} : TensorList{x, y};
      history = model.fit(Dataset::from_tensor_slices(parts).batch(batch).prefetch(2), options);
    } else {
      options.sample_weight = weight;
      history = model.fit(x, y, options);
    }
    for (const Logs& logs : history) losses.push_back(logs.at("loss"));
  }
  EvaluateOptions evaluation{.batch_size = batch, .sample_weight = weight};
  return {{"number", spec.at("number")},
          {"steps", steps},
          {"losses", losses},
          {"end", weights_of(model)},
          {"evaluated", model.evaluate(x, y, evaluation).at("loss")}};
}

}  // namespace
}  // namespace espalier

int main() {
  using espalier::Json;
  std::string line;
  while (std::getline(std::cin, line)) {
    const Json spec = Json::parse(line);
    Json out;
    try {
      out = espalier::run_fit(spec);
    } catch (const std::exception& error) {
      out = {{"number", spec.at("number")}, {"error", error.what()}};
    }
    std::puts(out.dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}
