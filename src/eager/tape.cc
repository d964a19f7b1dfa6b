#include "espalier/tape.h"

#include <unordered_set>

#include "eager/trace.h"
#include "grad/grad.h"
#include "ops/call.h"

namespace espalier {

struct GradientTape::Impl final : Recorder, ReadObserver {
  explicit Impl(TapeOptions options) : options(options) {}

  void record(const Call& call, std::span<const Tensor> outputs) override {
    if (!recording || call.op.no_gradient) return;
    bool depends = false;
    for (const Tensor& input : call.inputs) depends = depends || active.contains(input.node().get());
    if (!depends) return;
    calls.push_back({&call.op,
                     call.attributes,
                     {call.inputs.begin(), call.inputs.end()},
                     {outputs.begin(), outputs.end()},
                     {call.regions.begin(), call.regions.end()}});
    for (const Tensor& output : outputs) {
      if (is_float(output.dtype())) active.insert(output.node().get());
    }
  }

  void on_read(const VariablePtr& variable, const Tensor& value) override {
    const bool wanted =
        watched.contains(variable.get()) || (options.watch_accessed_variables && variable->trainable);
    if (recording && wanted && is_float(value.dtype())) watch_value(variable, value);
  }

  void watch_value(const VariablePtr& variable, const Tensor& value) {
    if (watched.insert(variable.get()).second) variables.push_back(variable);
    if (active.insert(value.node().get()).second) reads.emplace_back(variable, value);
  }

  void reset() {
    calls.clear();
    active.clear();
    watched.clear();
    variables.clear();
    reads.clear();
    kept.clear();
  }

  TapeOptions options;
  bool recording = true;
  bool spent = false;
  std::vector<TapeEntry> calls;
  std::unordered_set<const TensorNode*> active;
  std::unordered_set<const VariableState*> watched;
  std::vector<VariablePtr> variables;
  std::vector<std::pair<VariablePtr, Tensor>> reads;  // every value a watched variable had
  std::vector<Tensor> kept;                           // watched tensors, so that no other takes their address
};

GradientTape::GradientTape(TapeOptions options) : impl_(std::make_unique<Impl>(options)) {}
GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) {
    throw DTypeError("tape.watch", cat("only floating-point tensors have gradients, got ", tensor.type()));
  }
  impl_->active.insert(tensor.node().get());
  impl_->kept.push_back(tensor);
}

void GradientTape::watch(const Variable& variable) {
  const GradientTape::Pause pause(*this);
  impl_->watch_value(variable.state(), variable.read());
}

std::vector<Tensor> GradientTape::gradient(const std::vector<Tensor>& targets,
                                           const std::vector<Source>& sources,
                                           const GradientOptions& options) {
  if (impl_->spent) {
    throw StateError("tape.spent", "gradient() was called before on a tape that is not persistent",
                     "make it GradientTape({.persistent = true})");
  }
  if (!impl_->options.persistent) {
    impl_->recording = false;
    impl_->spent = true;
  }
  for (const Tensor& target : targets) {
    if (!is_float(target.dtype()))
      throw DTypeError("tape.target", cat("the target must be floating-point, got ", target.type()));
  }
  std::vector<Tensor> leaves;
  std::vector<size_t> owner;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].variable()) {
      leaves.push_back(sources[i].tensor());
      owner.push_back(i);
      continue;
    }
    for (const auto& [variable, value] : impl_->reads) {
      if (variable != sources[i].variable()) continue;
      leaves.push_back(value);
      owner.push_back(i);
    }
  }
  std::vector<Tensor> active;
  for (const Tensor& leaf : leaves) {
    if (impl_->active.contains(leaf.node().get())) active.push_back(leaf);
  }
  // A persistent tape records the gradient's own calls while they are made.
  const std::vector<TapeEntry> calls = impl_->options.persistent ? impl_->calls : std::move(impl_->calls);
  const std::vector<Tensor> found = reverse(calls, targets, options.output_gradients, active);
  std::vector<Tensor> out(sources.size());
  for (size_t i = 0, next = 0; i < leaves.size(); ++i) {
    if (next == active.size() || leaves[i].node() != active[next].node()) continue;
    const Tensor& gradient = found[next++];
    if (!gradient.defined()) continue;
    Tensor& sum = out[owner[i]];
    sum = sum.defined() ? sum + gradient : gradient;
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (out[i].defined() || options.unconnected == Unconnected::kNone) continue;
    out[i] =
        constant_like(sources[i].variable() ? sources[i].variable()->type : sources[i].tensor().type(), 0);
  }
  if (!impl_->options.persistent) impl_->reset();
  return out;
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Source>& sources,
                                           const GradientOptions& options) {
  return gradient(std::vector<Tensor>{target}, sources, options);
}

Tensor GradientTape::gradient(const Tensor& target, const Source& source, const GradientOptions& options) {
  return gradient(std::vector<Tensor>{target}, {source}, options)[0];
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Variable>& variables,
                                           const GradientOptions& options) {
  return gradient(std::vector<Tensor>{target}, std::vector<Source>(variables.begin(), variables.end()),
                  options);
}

namespace {

const Shape& shape_of(const Source& source) {
  return source.variable() ? source.variable()->type.shape : source.tensor().shape();
}

// [n, shape...] from n tensors of `shape`, or of `shape` at axis `axis`.
Tensor stacked(const std::vector<Tensor>& parts, int64_t axis) {
  std::vector<Tensor> expanded;
  for (const Tensor& part : parts) {
    Shape shape = part.shape();
    shape.insert(static_cast<size_t>(axis), 1);
    expanded.push_back(reshape(part, shape));
  }
  return concatenate(expanded, axis);
}

}  // namespace

std::vector<Tensor> GradientTape::gradients_by_place(const Tensor& target, const Tensor& places,
                                                     int64_t count, const Source& source,
                                                     const GradientOptions& options) {
  struct Persist {
    Impl& impl;
    bool before = std::exchange(impl.options.persistent, true);
    ~Persist() {
      impl.options.persistent = before;
      if (before || impl.spent) return;
      impl.recording = false;
      impl.spent = true;
      impl.reset();
    }
  } persist{*impl_};
  const Pause pause(*this);
  std::vector<Tensor> out;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor weights = convert(compare(places, i, Comparison::kEQ), target.dtype());
    out.push_back(
        gradient(target, source, {.unconnected = options.unconnected, .output_gradients = {weights}}));
    if (!out.back().defined()) return {Tensor()};
  }
  return out;
}

Tensor GradientTape::jacobian(const Tensor& target, const Source& source, const GradientOptions& options) {
  const int64_t count = target.type().elements();
  const Tensor places = reshape(iota({DType::kI64, {count}}, 0), target.shape());
  const std::vector<Tensor> rows = gradients_by_place(target, places, count, source, options);
  Shape shape = target.shape();
  for (const int64_t size : shape_of(source)) shape.push_back(size);
  if (rows.empty()) return full(shape, 0, target.dtype());
  return rows[0].defined() ? reshape(stacked(rows, 0), shape) : Tensor();
}

Tensor GradientTape::batch_jacobian(const Tensor& target, const Source& source,
                                    const GradientOptions& options) {
  const Shape& from = shape_of(source);
  if (target.rank() == 0 || from.empty() || target.size(0) != from[0]) {
    throw ShapeError("tape.batch",
                     cat("target and source must have one row an example: ", target.type(), " and ", from));
  }
  const int64_t batch = target.size(0), count = batch ? target.type().elements() / batch : 0;
  const Tensor places =
      reshape(broadcast_to(iota({DType::kI64, {count}}, 0), {batch, count}), target.shape());
  const std::vector<Tensor> columns = gradients_by_place(target, places, count, source, options);
  Shape shape = target.shape();
  for (size_t i = 1; i < from.size(); ++i) shape.push_back(from[i]);
  if (columns.empty()) return full(shape, 0, target.dtype());
  return columns[0].defined() ? reshape(stacked(columns, 1), shape) : Tensor();
}

GradientTape::Pause::Pause(GradientTape& tape)
    : tape_(tape), before_(std::exchange(tape.impl_->recording, false)) {}
GradientTape::Pause::~Pause() { tape_.impl_->recording = before_; }

void GradientTape::reset() {
  impl_->reset();
  impl_->recording = true;
  impl_->spent = false;
}

std::vector<Variable> GradientTape::watched_variables() const {
  std::vector<Variable> out;
  for (const VariablePtr& variable : impl_->variables) out.emplace_back(variable);
  return out;
}

}  // namespace espalier
