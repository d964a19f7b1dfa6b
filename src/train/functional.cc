#include "espalier/functional.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "nn/infer_outputs.h"
#include "train/earlier_paths.h"
#include "train/program.h"

namespace espalier {
namespace {

// `name`, or name_1, name_2, ...: the first that none of `taken` is.
std::string free_name(const std::string& name, const std::vector<std::string>& taken) {
  std::string out = name;
  for (int i = 1; std::ranges::find(taken, out) != taken.end(); ++i) out = cat(name, "_", i);
  return out;
}

}  // namespace

struct Placeholder::Origin {
  Origin(std::shared_ptr<Layer> layer, std::vector<Placeholder> inputs, Location at);
  Origin(TensorType row, std::string name, Location at);
  ~Origin();
  std::shared_ptr<Layer> layer;  // null for an Input
  mutable std::vector<Placeholder> inputs;
  Location at;  // of connect() or Input()
  TensorType row;
  std::string name;
  // Of what it makes of kInferredRows rows; empty when that is not known before the model runs.
  std::vector<TensorType> types;
};

Placeholder::Origin::Origin(std::shared_ptr<Layer> made_by, std::vector<Placeholder> of, Location at)
    : layer(std::move(made_by)), inputs(std::move(of)), at(at) {
  std::vector<TensorType> given;
  for (const Placeholder& input : inputs) {
    const std::vector<TensorType>& known = input.origin_->types;
    if (input.output_ == kOnly ? known.size() != 1 : input.output_ >= known.size()) return;
    given.push_back(known[input.output_ == kOnly ? 0 : input.output_]);
  }
  types = infer_outputs(*layer, given);
}

Placeholder::Origin::Origin(TensorType of_row, std::string name, Location at)
    : at(at), row(std::move(of_row)), name(std::move(name)) {
  if (std::ranges::find(row.shape, -1) != row.shape.end()) return;
  Shape batch{kInferredRows};
  for (const int64_t size : row.shape) batch.push_back(size);
  types.push_back({row.dtype, batch});
}

// One after the other: a long chain of layers would end the stack.
Placeholder::Origin::~Origin() {
  std::vector<Placeholder> last = std::move(inputs);
  while (!last.empty()) {
    const std::shared_ptr<const Origin> origin = std::move(last.back().origin_);
    last.pop_back();
    if (origin.use_count() > 1) continue;
    last.insert(last.end(), origin->inputs.begin(), origin->inputs.end());
    origin->inputs.clear();
  }
}

Placeholder Placeholder::operator[](size_t i) const {
  const CallScope scope(origin_->at);
  if (!origin_->layer) {
    throw ValueError("functional.output",
                     cat("input \"", origin_->name, "\" is one tensor, it has no output ", i));
  }
  return Placeholder(origin_, i);
}

Placeholder Input(const Shape& shape, InputOptions options, Location at) {
  const CallScope scope(at);
  for (const int64_t size : shape) {
    if (size < -1) throw ValueError("input.shape", cat("sizes are not negative, or -1 for any, got ", shape));
  }
  return Placeholder(
      std::make_shared<Placeholder::Origin>(TensorType{options.dtype, shape}, std::move(options.name), at));
}

Placeholder connect_layer(std::shared_ptr<Layer> layer, std::vector<Placeholder> inputs, Location at) {
  const CallScope scope(at);
  if (inputs.empty()) throw ValueError("functional.inputs", "a layer needs something to be connected to");
  return Placeholder(std::make_shared<Placeholder::Origin>(std::move(layer), std::move(inputs), at));
}

// The layers in the order they run, Keras'. What they make is numbered: the tensors of the call first, then
// one list a layer.
struct Functional::Plan {
  struct Value {
    size_t list, output;
  };
  struct Step {
    std::shared_ptr<Layer> layer;
    Location at;
    std::vector<Value> inputs;
  };
  struct Given {
    std::string name;
    std::optional<TensorType> row;  // none: what a layer would make
  };
  std::vector<Given> given;
  std::vector<Step> steps;
  std::vector<size_t> earlier;  // the steps in the order of versions before
  std::vector<Value> outputs;
  std::vector<std::string> output_names;

  using Key = std::pair<const Placeholder::Origin*, size_t>;
  void check(std::span<const Tensor> inputs) const;
  static const Tensor& find(const std::vector<Tensors>& made, const Value& value, size_t given,
                            const std::vector<Step>& steps);
  void keep_earlier_paths(const std::string& path) const;
};

namespace {

// What the handles of one layer share.
const void* identity(const Layer& layer) { return &layer.name(); }

// The steps, each of which needs others before it, in the order of Keras' Functional, in which its layers
// have their variables, too: the farther from an output the sooner, where all steps of one layer are as far
// as the farthest of them so far; then as the layers were met from the outputs on, first inputs first. Steps
// of one layer, which may keep averages, follow each other as what needs them names them.
std::vector<size_t> order_of_keras(const std::vector<std::vector<size_t>>& needed,
                                   const std::vector<size_t>& layers) {
  struct Place {
    int64_t depth = -1;
    size_t named = 0;
  };
  std::vector<Place> places(needed.size());
  std::vector<int64_t> depth_of_layer(needed.size());
  size_t named = 0;
  const auto place = [&](size_t step, int64_t depth) {
    if (places[step].depth < 0) places[step].named = named++;
    places[step].depth = std::max(places[step].depth, depth);
  };
  for (size_t i = needed.size(); i-- > 0;) {
    place(i, depth_of_layer[layers[i]]);
    const int64_t depth = depth_of_layer[layers[i]] = places[i].depth;
    for (const size_t step : needed[i]) place(step, depth + 1);
  }
  std::vector<size_t> out(needed.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::sort(out, {},
                    [&](size_t i) { return std::tuple(-places[i].depth, layers[i], places[i].named); });
  return out;
}

}  // namespace

Functional::Functional(const std::vector<Placeholder>& inputs, const std::vector<Placeholder>& outputs,
                       std::string name, Location at)
    : Model(std::move(name), {}, at) {
  const CallScope scope(at);
  keep_input_dtype();
  if (inputs.empty()) throw ValueError("functional.inputs", "a model needs an input");
  if (outputs.empty()) throw ValueError("functional.outputs", "a model needs an output");
  auto plan = std::make_shared<Plan>();
  using Origin = Placeholder::Origin;
  const auto name_of = [](const Placeholder& value) {
    return value.origin_->layer ? value.origin_->layer->name() : value.origin_->name;
  };
  std::map<Plan::Key, size_t> given;
  std::vector<std::string> taken;
  for (const Placeholder& input : inputs) {
    const Origin& origin = *input.origin_;
    if (!given.try_emplace({&origin, input.output_}, given.size()).second)
      throw ValueError("functional.inputs", cat("input ", given.size(), " stands there twice"));
    plan->given.push_back(
        {free_name(name_of(input), taken), origin.layer ? std::nullopt : std::optional(origin.row)});
    taken.push_back(plan->given.back().name);
  }
  const auto is_given = [&](const Placeholder& value) {
    return given.contains({value.origin_.get(), value.output_});
  };
  // What gives `outputs`, each behind all that it needs; the inputs of each from the first to the last, or
  // the other way. `met` is called as each is met first.
  const auto walk = [&](bool from_first, const auto& met) {
    std::vector<const Origin*> out;
    std::unordered_map<const Origin*, bool> done;
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<const Placeholder*> open{&outputs[i]};
      while (!open.empty()) {
        const Origin& origin = *open.back()->origin_;
        if (is_given(*open.back())) {
          open.pop_back();
          continue;
        }
        if (!origin.layer) {
          throw ValueError("functional.inputs", cat("output ", i, " depends on the input \"", origin.name,
                                                    "\", which is none of the model's"));
        }
        const auto [known, is_new] = done.try_emplace(&origin, false);
        if (is_new) {
          met(origin);
          const size_t before = open.size();
          for (const Placeholder& input : origin.inputs) open.push_back(&input);
          if (from_first) std::reverse(open.begin() + static_cast<ptrdiff_t>(before), open.end());
          continue;
        }
        open.pop_back();
        if (!std::exchange(known->second, true)) out.push_back(&origin);
      }
    }
    return out;
  };
  std::unordered_map<const void*, size_t> met_as;  // layers, as they are met
  const std::vector<const Origin*> found =
      walk(true, [&](const Origin& origin) { met_as.try_emplace(identity(*origin.layer), met_as.size()); });
  std::unordered_map<const Origin*, size_t> step_of;
  for (size_t i = 0; i < found.size(); ++i) step_of.emplace(found[i], i);
  std::vector<std::vector<size_t>> needed(found.size());
  std::vector<size_t> layers;
  for (size_t i = 0; i < found.size(); ++i) {
    layers.push_back(met_as.at(identity(*found[i]->layer)));
    for (const Placeholder& input : found[i]->inputs) {
      if (!is_given(input)) needed[i].push_back(step_of.at(input.origin_.get()));
    }
  }
  const std::vector<size_t> order = order_of_keras(needed, layers);
  for (size_t i = 0; i < order.size(); ++i) step_of.at(found[order[i]]) = i;
  const auto value_of = [&](const Placeholder& value) -> Plan::Value {
    if (is_given(value)) return {given.at({value.origin_.get(), value.output_}), 0};
    return {given.size() + step_of.at(value.origin_.get()), value.output_};
  };
  for (const size_t i : order) {
    Plan::Step step{found[i]->layer, found[i]->at, {}};
    for (const Placeholder& input : found[i]->inputs) step.inputs.push_back(value_of(input));
    plan->steps.push_back(std::move(step));
  }
  for (const Placeholder& output : outputs) {
    plan->outputs.push_back(value_of(output));
    plan->output_names.push_back(free_name(name_of(output), plan->output_names));
  }
  const bool joins = std::ranges::any_of(needed, [](const auto& steps) { return steps.size() > 1; });
  for (const Origin* origin : joins ? walk(false, [](const Origin&) {}) : found)
    plan->earlier.push_back(step_of.at(origin));
  if (std::ranges::is_sorted(plan->earlier)) plan->earlier.clear();
  plan_ = std::move(plan);
}

std::vector<std::string> Functional::input_names() const {
  std::vector<std::string> out;
  for (const Plan::Given& given : plan_->given) out.push_back(given.name);
  return out;
}
std::vector<std::string> Functional::output_names() const { return plan_->output_names; }

void Functional::Plan::check(std::span<const Tensor> inputs) const {
  if (inputs.size() != given.size()) {
    throw ValueError("functional.inputs",
                     cat("the model takes ", counted(given.size(), "tensor"), ", got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!given[i].row) continue;
    const TensorType& type = inputs[i].type();
    const auto& [dtype, row] = *given[i].row;
    if (type.dtype != dtype && !(is_float(dtype) && is_float(type.dtype))) {
      throw DTypeError("functional.dtype",
                       cat("input \"", given[i].name, "\" is made for ", dtype, ", got ", type));
    }
    bool fits = type.rank() == row.size() + 1;
    for (size_t axis = 0; fits && axis < row.size(); ++axis)
      fits = row[axis] == -1 || row[axis] == type.shape[axis + 1];
    if (!fits) {
      throw ShapeError("functional.shape",
                       cat("input \"", given[i].name, "\" takes rows of the shape ", row, ", got ", type),
                       type.shape == row ? kBatchFix : "");
    }
  }
}

const Tensor& Functional::Plan::find(const std::vector<Tensors>& made, const Value& value, size_t given,
                                     const std::vector<Step>& steps) {
  const Tensors& list = made[value.list];
  if (value.output == Placeholder::kOnly ? list.size() == 1 : value.output < list.size())
    return list[value.output == Placeholder::kOnly ? 0 : value.output];
  const std::string& layer = steps[value.list - given].layer->path();
  throw ValueError(
      "functional.output",
      value.output == Placeholder::kOnly
          ? cat("layer \"", layer, "\" gives ", list.size(), " tensors where one is needed")
          : cat("layer \"", layer, "\" gives ", list.size(), " tensors, there is no output ", value.output));
}

void Functional::Plan::keep_earlier_paths(const std::string& path) const {
  std::vector<std::string> taken;
  std::set<std::string> seen;
  for (const size_t i : earlier) {
    const Layer& layer = *steps[i].layer;
    // One that had been called elsewhere has its path from there.
    const size_t slash = layer.path().rfind('/');
    if (slash == std::string::npos || layer.path().substr(0, slash) != path) continue;
    if (!seen.insert(layer.path()).second) continue;
    taken.push_back(free_name(layer.name(), taken));
    const std::string now = layer.path() + "/", before = cat(path, "/", taken.back(), "/");
    if (now == before) continue;
    for (const Variable& variable : layer.variables()) {
      // Below may be another functional model.
      const std::string own = earlier_path(variable);
      if (own.starts_with(now)) keep_earlier_path(variable, before + own.substr(now.size()));
    }
  }
}

Tensors Functional::call_many(Inputs<Tensor> inputs) {
  plan_->check(inputs);
  const bool names = !plan_->earlier.empty() && std::ranges::any_of(plan_->steps, [](const Plan::Step& step) {
    return step.layer->path().empty();
  });
  std::vector<Tensors> made;
  for (const Tensor& input : inputs) made.push_back({input});
  const auto find = [&](const std::vector<Plan::Value>& values) {
    Tensors out;
    for (const Plan::Value& value : values)
      out.push_back(Plan::find(made, value, plan_->given.size(), plan_->steps));
    return out;
  };
  for (const Plan::Step& step : plan_->steps)
    made.push_back(step.layer->apply(TensorList(find(step.inputs), step.at)));
  if (names) plan_->keep_earlier_paths(path());
  return find(plan_->outputs);
}

}  // namespace espalier
