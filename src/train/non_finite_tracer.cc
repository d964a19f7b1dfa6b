#include "train/non_finite_tracer.h"

#include "ir/op.h"

namespace espalier {

namespace {

// The row of the data that the first of those found lies in.
std::string row_text(const NotFinite& found, const TensorType& type, std::span<const int64_t> numbers) {
  if (numbers.empty()) return "";
  const int64_t row = found.first / (type.elements() / type.shape[0]);
  return cat(" of this batch: row ", numbers[static_cast<size_t>(row)], " of the data");
}

}  // namespace

NonFiniteTracer::NonFiniteTracer(std::span<const Tensor> arguments, std::span<const int64_t> numbers,
                                 size_t labels)
    : home_(CallScope::exchange({})), innermost_(CallScope::innermost()) {
  const size_t inputs = arguments.size() - labels - 1;
  for (size_t i = 0; i < arguments.size(); ++i) {
    add_leaf(arguments[i],
             i < inputs            ? cat("input ", i, " is not finite")
             : i < inputs + labels ? cat("tensor ", i - inputs, " of the labels is not finite")
                                   : "the weights of rows are not finite",
             numbers);
  }
}

NonFiniteTracer::~NonFiniteTracer() { CallScope::exchange(home_); }

void NonFiniteTracer::add_leaf(const Tensor& tensor, const std::string& fault,
                               std::span<const int64_t> numbers) {
  const NotFinite found = count_not_finite(tensor);
  OriginPtr origin;
  if (found) {
    const TensorType type = tensor.type();
    origin = std::make_shared<Origin>(
        Origin{made_.size(), cat(fault, ": ", to_string(found, type), row_text(found, type, numbers))});
  }
  values_.insert_or_assign(tensor.node().get(), Value{tensor, found, origin});
}

const NonFiniteTracer::Value& NonFiniteTracer::value_of(const Tensor& tensor) {
  const auto [it, added] = values_.try_emplace(tensor.node().get(), Value{tensor});
  Value& value = it->second;
  if (!added) return value;
  value.found = count_not_finite(tensor);
  if (value.found.nan) {
    value.origin = std::make_shared<Origin>(
        Origin{made_.size(), cat("a constant is not finite: ", to_string(value.found, tensor.type()))});
  }
  return value;
}

void NonFiniteTracer::on_assign(const VariablePtr& variable, const Tensor& next) {
  assigned_.insert_or_assign(variable.get(), next);
}

void NonFiniteTracer::on_read(const VariablePtr& variable, const Tensor& value) {
  if (!value.concrete() || values_.contains(value.node().get())) return;
  const auto it = assigned_.find(variable.get());
  if (it == assigned_.end()) {
    add_leaf(value, cat("variable \"", variable->path, "\" was not finite before the step"));
    return;
  }
  Value known = value_of(it->second);
  known.tensor = value;
  values_.emplace(value.node().get(), std::move(known));
}

void NonFiniteTracer::on_begin(const std::string& path) {
  layers_.push_back({path, CallScope::exchange({})});
}

void NonFiniteTracer::on_end(std::span<const Variable>, std::span<const Tensor>) {
  CallScope::exchange(layers_.back().outer);
  layers_.pop_back();
}

void NonFiniteTracer::on_reverse(const TapeEntry& call) {
  if (call.outputs.empty()) return;
  const auto it = values_.find(call.outputs[0].node().get());
  if (it == values_.end() || it->second.call == kNone) return;
  const size_t outer = made_[it->second.call].reverse_of;
  reversing_ = outer == kNone ? it->second.call : outer;
}

void NonFiniteTracer::record(const Call& call, std::span<const Tensor> outputs) {
  // Lines of the library lead nowhere, and that of fit() is named anyway.
  const Location at = CallScope::innermost();
  made_.push_back({std::string(call.op.name), layers_.empty() ? "" : layers_.back().path,
                   at == innermost_ ? Location() : at, reversing_});
  for (const Tensor& output : outputs) {
    if (!output.concrete()) continue;
    const NotFinite found = count_not_finite(output);
    values_.insert_or_assign(
        output.node().get(),
        Value{output, found, found ? origin_of(call, output, found) : nullptr, made_.size() - 1});
  }
}

NonFiniteTracer::OriginPtr NonFiniteTracer::origin_of(const Call& call, const Tensor& output,
                                                      const NotFinite& found) {
  OriginPtr of_nan, of_infinity;
  bool infinite = false;
  for (const Tensor& input : call.inputs) {
    const Value& value = value_of(input);
    if (value.found.nan && !of_nan) of_nan = value.origin;
    if (value.found.infinite && !of_infinity) of_infinity = value.origin;
    infinite = infinite || value.found.infinite;
  }
  if (found.nan && of_nan) return of_nan;
  if (of_infinity) return of_infinity;
  if (!found.nan && (infinite || call.inputs.empty())) return nullptr;
  return std::make_shared<Origin>(
      Origin{made_.size() - 1, cat(place_of(made_.back()), " gave ", to_string(found, output.type()),
                                   infinite ? ", from infinities of constants" : ", from finite inputs")});
}

std::string NonFiniteTracer::place_of(const Made& made) const {
  const auto where = [](const Made& call) { return call.at.known() ? cat(" at ", call.at) : std::string(); };
  if (made.reverse_of != kNone) {
    const Made& forward = made_[made.reverse_of];
    return cat(made.op, ", in the gradient of ", forward.op, where(forward), " in ",
               forward.layer.empty() ? "the loss" : cat("layer \"", forward.layer, "\""), ",");
  }
  if (made.layer.empty() && !in_loss_) return cat(made.op, " in the metrics or the optimizer");
  return cat(made.op, where(made), " in ",
             made.layer.empty() ? "the loss" : cat("layer \"", made.layer, "\""));
}

void NonFiniteTracer::raise(const std::string& what, const Value& value) {
  CallScope::exchange(home_);
  throw ValueError("check_numerics", cat(what, " not finite: ",
                                         value.origin ? value.origin->text
                                                      : cat("a constant brings ",
                                                            to_string(value.found, value.tensor.type()))));
}

void NonFiniteTracer::loss(const Tensor& loss) {
  const Value& value = value_of(loss);
  if (value.found) raise("the loss is", value);
}

void NonFiniteTracer::gradients(const std::vector<Variable>& variables,
                                const std::vector<Tensor>& gradients) {
  const Value* first = nullptr;
  const Variable* of = nullptr;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Value& value = value_of(gradients[i]);
    const auto time = [](const Value& v) { return v.origin ? v.origin->time : 0; };
    if (!value.found || (first && time(*first) <= time(value))) continue;
    first = &value;
    of = &variables[i];
  }
  if (first) raise(cat("the loss is finite; the gradient of \"", of->path(), "\" is"), *first);
  reversing_ = kNone;
  in_loss_ = false;
}

void NonFiniteTracer::updated(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    if (!is_float(variable.dtype())) continue;
    const Value& value = value_of(variable.state()->read());
    if (value.found)
      raise(cat("loss and gradients are finite; the new value of \"", variable.path(), "\" is"), value);
  }
}

void NonFiniteTracer::give_up() {
  CallScope::exchange(home_);
  throw ValueError("check_numerics",
                   "the loss, a gradient or a new weight is not finite in the step as it is planned, and all "
                   "are finite when it runs call by call: a number lies at the edge of what its type holds");
}

}  // namespace espalier
