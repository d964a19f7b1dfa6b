#include "espalier/functional.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/format.h"
#include "nn/infer_outputs.h"
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

// The layers in the order they run. What they make is numbered: the tensors of the call first, then one list
// a layer.
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
  std::vector<Value> outputs;
  std::vector<std::string> output_names;

  using Key = std::pair<const Placeholder::Origin*, size_t>;
  void check(std::span<const Tensor> inputs) const;
  static const Tensor& find(const std::vector<Tensors>& made, const Value& value, size_t given,
                            const std::vector<Step>& steps);
};

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
  std::unordered_map<const Origin*, size_t> step_of;
  const auto known = [&](const Placeholder& value) {
    return given.count({value.origin_.get(), value.output_}) || step_of.count(value.origin_.get());
  };
  const auto value_of = [&](const Placeholder& value) -> Plan::Value {
    const auto it = given.find({value.origin_.get(), value.output_});
    if (it != given.end()) return {it->second, 0};
    return {given.size() + step_of.at(value.origin_.get()), value.output_};
  };
  for (const Placeholder& output : outputs) {
    std::vector<const Placeholder*> open{&output};
    while (!open.empty()) {
      const Placeholder& value = *open.back();
      if (known(value)) {
        open.pop_back();
        continue;
      }
      const Origin& origin = *value.origin_;
      if (!origin.layer) {
        throw ValueError("functional.inputs", cat("output ", plan->outputs.size(), " depends on the input \"",
                                                  origin.name, "\", which is none of the model's"));
      }
      const size_t before = open.size();
      for (const Placeholder& input : origin.inputs) {
        if (!known(input)) open.push_back(&input);
      }
      if (open.size() > before) continue;
      Plan::Step step{origin.layer, origin.at, {}};
      for (const Placeholder& input : origin.inputs) step.inputs.push_back(value_of(input));
      step_of.emplace(&origin, plan->steps.size());
      plan->steps.push_back(std::move(step));
      open.pop_back();
    }
    plan->outputs.push_back(value_of(output));
    plan->output_names.push_back(free_name(name_of(output), plan->output_names));
  }
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

Tensors Functional::call_many(Inputs<Tensor> inputs) {
  plan_->check(inputs);
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
  return find(plan_->outputs);
}

}  // namespace espalier
