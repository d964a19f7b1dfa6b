#include "espalier/tape.h"

#include <exception>
#include <optional>
#include <unordered_set>

#include "eager/trace.h"
#include "grad/grad.h"
#include "grad/node_map.h"
#include "ops/call.h"

namespace espalier {

struct GradientTape::Impl final : Recorder, ReadObserver {
  explicit Impl(TapeOptions options) : options(options) {}

  void record(const Call& call, std::span<const Tensor> outputs) override {
    if (!recording || call.op.no_gradient) return;
    bool depends = false;
    for (const Tensor& input : call.inputs) depends = depends || active.contains(input);
    if (!depends) return;
    calls.push_back({&call.op,
                     call.attributes,
                     {call.inputs.begin(), call.inputs.end()},
                     {outputs.begin(), outputs.end()},
                     {call.regions.begin(), call.regions.end()}});
    for (const Tensor& input : call.inputs) input.node()->keep();
    for (const Tensor& output : outputs) {
      output.node()->keep();
      if (is_float(output.dtype())) active.insert(output, static_cast<uint32_t>(calls.size()));
    }
  }

  void on_read(const VariablePtr& variable, const Tensor& value) override {
    const bool wanted =
        watched.contains(variable.get()) || (options.watch_accessed_variables && variable->ask_trainable());
    if (recording && wanted && is_float(value.dtype())) watch_value(variable, value);
  }

  void watch_value(const VariablePtr& variable, const Tensor& value) {
    if (watched.insert(variable.get()).second) variables.push_back(variable);
    if (active.insert(value, 0)) reads.emplace_back(variable, value);
  }

  // Lets go of everything but the list of watched variables.
  void release() {
    calls.clear();
    active.clear();
    watched.clear();
    reads.clear();
    kept.clear();
  }

  TapeOptions options;
  bool recording = true;
  bool spent = false;
  std::vector<TapeEntry> calls;
  // Values that depend on watched ones: how many calls had been made when each was there.
  NodeMap active;
  std::unordered_set<const VariableState*> watched;
  std::vector<VariablePtr> variables;
  std::vector<std::pair<VariablePtr, Tensor>> reads;  // every value a watched variable had
  std::vector<Tensor> kept;                           // watched tensors, so that no other takes their address
};

namespace {

// The first calls of a list, in a place that does not move while the list grows.
struct Aside {
  Aside(std::vector<TapeEntry>& list, size_t count) : list_(list) {
    calls.assign(std::make_move_iterator(list.begin()),
                 std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(count)));
  }
  ~Aside() { std::move(calls.begin(), calls.end(), list_.begin()); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  std::vector<TapeEntry> calls;

 private:
  std::vector<TapeEntry>& list_;
};

}  // namespace

GradientTape::GradientTape(TapeOptions options) : impl_(std::make_unique<Impl>(options)) {}
GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& tensor, Location at) {
  CallScope scope(at);
  if (!is_float(tensor.dtype())) {
    throw DTypeError("tape.watch", cat("only floating-point tensors have gradients, got ", tensor.type()));
  }
  if (impl_->active.insert(tensor, 0)) impl_->kept.push_back(tensor);
  tensor.node()->keep();
}

void GradientTape::watch(const Variable& variable, Location at) {
  CallScope scope(at);
  if (!is_float(variable.dtype())) {
    throw DTypeError("tape.watch", cat("only floating-point variables have gradients, \"", variable.path(),
                                       "\" is ", variable.type()));
  }
  const GradientTape::Pause pause(*this);
  impl_->watch_value(variable.state(), variable.state()->read());
}

std::vector<Tensor> GradientTape::gradient(const std::vector<Tensor>& targets,
                                           const std::vector<Source>& sources, const GradientOptions& options,
                                           Location at) {
  CallScope scope(at);
  if (impl_->spent) {
    throw StateError("tape.spent", "gradient() was called before on a tape that is not persistent",
                     "make it GradientTape({.persistent = true})");
  }
  for (const Tensor& target : targets) {
    if (!is_float(target.dtype()))
      throw DTypeError("tape.target", cat("the target must be floating-point, got ", target.type()));
  }
  for (size_t i = 0; i < options.output_gradients.size(); ++i) {
    const Tensor& weight = options.output_gradients[i];
    if (i >= targets.size())
      throw ValueError("tape.output_gradients", cat("there are ", options.output_gradients.size(), " for ",
                                                    targets.size(), " targets"));
    if (weight.defined() && weight.type() != targets[i].type())
      throw ShapeError("gradient.cotangent", cat("output gradient ", i, " is ", weight.type(),
                                                 ", the target is ", targets[i].type()));
  }
  // What is refused on the way leaves the tape as it was.
  std::optional<Pause> quiet;
  if (!impl_->options.persistent) quiet.emplace(*this);
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
    if (impl_->active.contains(leaf)) active.push_back(leaf);
  }
  // Only calls up to the last target count.
  size_t end = 0;
  for (const Tensor& target : targets) {
    if (impl_->active.contains(target)) end = std::max<size_t>(end, impl_->active.find(target));
  }
  const std::vector<Tensor> found = [&] {
    if (!impl_->options.persistent)
      return reverse(std::span(impl_->calls).first(end), targets, options.output_gradients, active);
    // The gradient's own calls are recorded behind these, while they are made.
    const Aside aside(impl_->calls, end);
    return reverse(aside.calls, targets, options.output_gradients, active);
  }();
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
  if (!impl_->options.persistent) {
    quiet.reset();
    impl_->recording = false;
    impl_->spent = true;
    impl_->release();
  }
  return out;
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Source>& sources,
                                           const GradientOptions& options, Location at) {
  return gradient(std::vector<Tensor>{target}, sources, options, at);
}

Tensor GradientTape::gradient(const Tensor& target, const Source& source, const GradientOptions& options,
                              Location at) {
  return gradient(std::vector<Tensor>{target}, {source}, options, at)[0];
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Variable>& variables,
                                           const GradientOptions& options, Location at) {
  return gradient(std::vector<Tensor>{target}, std::vector<Source>(variables.begin(), variables.end()),
                  options, at);
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
    int exceptions = std::uncaught_exceptions();
    ~Persist() {
      impl.options.persistent = before;
      if (before || impl.spent || std::uncaught_exceptions() > exceptions) return;
      impl.recording = false;
      impl.spent = true;
      impl.release();
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

Tensor GradientTape::jacobian(const Tensor& target, const Source& source, const GradientOptions& options,
                              Location at) {
  CallScope scope(at);
  const int64_t count = target.type().elements();
  const Tensor places = reshape(iota({DType::kI64, {count}}, 0), target.shape());
  const std::vector<Tensor> rows = gradients_by_place(target, places, count, source, options);
  Shape shape = target.shape();
  for (const int64_t size : shape_of(source)) shape.push_back(size);
  if (rows.empty()) return full(shape, 0, target.dtype());
  return rows[0].defined() ? reshape(stacked(rows, 0), shape) : Tensor();
}

Tensor GradientTape::batch_jacobian(const Tensor& target, const Source& source,
                                    const GradientOptions& options, Location at) {
  CallScope scope(at);
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
  impl_->release();
  impl_->variables.clear();
  impl_->recording = true;
  impl_->spent = false;
}

std::vector<Variable> GradientTape::watched_variables() const {
  std::vector<Variable> out;
  for (const VariablePtr& variable : impl_->variables) out.emplace_back(variable);
  return out;
}

}  // namespace espalier
