#include "place/device_place.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/object_pool.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "passes/pass.h"
#include "place/shares.h"
#include "place/staged_program.h"

namespace espalier {
namespace {

// What a program needs, for errors over memory: its inputs.
class Needs {
 public:
  explicit Needs(const Graph& graph) {
    for (const GraphInput& input : graph.inputs()) {
      const TensorType& type = graph.type(input.value);
      const bool argument = input.kind == InputKind::kArgument;
      all_.emplace_back(type.bytes(),
                        argument ? cat("argument ", all_.size(), " ", type) : cat(input.name, " ", type));
    }
    std::ranges::stable_sort(all_, std::greater(), &std::pair<size_t, std::string>::first);
    constexpr size_t kShown = 5;
    if (all_.size() > kShown) all_.resize(kShown);
  }
  // Names the largest where f has none for them.
  template <class F>
  void during(const F& f) const {
    try {
      f();
    } catch (DeviceError& error) {
      if (error.rule() == "device.memory") error.add(text());
      throw;
    }
  }

 private:
  std::string text() const {
    std::string out;
    for (const auto& [bytes, what] : all_)
      out += cat(out.empty() ? "; the largest tensors it needs: " : ", ", what, " (",
                 fixed(static_cast<double>(bytes) / (1 << 20), 1), " MiB)");
    return out;
  }
  std::vector<std::pair<size_t, std::string>> all_;
};

class ProgramOnDevice final : public Program {
 public:
  ProgramOnDevice(Device& device, std::shared_ptr<const DeviceProgram> program, const Graph& graph)
      : device_(device), program_(std::move(program)), needs_(graph) {}

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext& context) const override {
    std::unique_ptr<Uploads> uploads = idle_.take();
    if (!uploads) uploads = std::make_unique<Uploads>(inputs.size());
    needs_.during([&] {
      std::vector<RemoteArrayPtr> arrays;
      arrays.reserve(inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i)
        arrays.push_back(uploaded(*inputs[i], donated[i], (*uploads)[i]));
      const std::vector<RemoteArrayPtr> results = program_->run(arrays, donated, context);
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = make_remote(results[i]);
    });
    idle_.give(std::move(uploads));
  }

 private:
  // Of an input of the run before that did not lie there: held, so that nobody writes into what was uploaded.
  struct Upload {
    Tensor tensor;
    RemoteArrayPtr array;
  };
  using Uploads = std::vector<Upload>;

  RemoteArrayPtr uploaded(const Tensor& input, bool donated, Upload& before) const {
    if (donated || lies_on(input, device_)) return array_on(input, device_);
    // One that is the one before, as weights of rows that are all 1, is there.
    if (!before.tensor.defined() || before.tensor.node() != input.node())
      before = {input, device_.upload(input.node()->literal())};
    return before.array;
  }

  Device& device_;
  const std::shared_ptr<const DeviceProgram> program_;
  const Needs needs_;
  mutable ObjectPool<Uploads> idle_;
};

// Of replicas on several devices, one a device: arguments of each, and variables that are the same on all.
class ProgramOnDevices final : public Program {
 public:
  ProgramOnDevices(Device& device, size_t replicas, std::shared_ptr<const DeviceProgram> program,
                   const Graph& graph)
      : device_(device),
        replicas_(replicas),
        inputs_(graph.inputs().size()),
        program_(std::move(program)),
        needs_(graph) {
    arguments_ =
        static_cast<size_t>(std::ranges::count(graph.inputs(), InputKind::kArgument, &GraphInput::kind));
    kept_.resize(arguments_);
  }

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext& context) const override {
    needs_.during([&] {
      std::vector<RemoteArrayPtr> arrays;
      {
        const std::lock_guard lock(mutex_);
        for (size_t k = 0; k < arguments_; ++k) arrays.push_back(argument(inputs, k, donated[k]));
      }
      for (size_t k = arguments_; k < inputs_; ++k) arrays.push_back(array_on(*inputs[k], device_));
      const std::vector<RemoteArrayPtr> results = program_->run(arrays, donated.first(inputs_), context);
      for (size_t i = 0; i < outputs.size(); ++i)
        outputs[i] = i < results.size() ? make_remote(results[i]) : outputs[i % results.size()];
    });
  }

 private:
  // What was given before, and its values where they are small: equal ones are there.
  struct Kept {
    std::vector<Literal> values = {};
    RemoteArrayPtr there = {};
  };

  RemoteArrayPtr argument(std::span<const Tensor* const> inputs, size_t k, bool donated) const {
    // Larger ones are new in each step.
    constexpr size_t kLargest = size_t{1} << 16;
    std::vector<Literal> values;
    for (size_t replica = 0; replica < replicas_; ++replica) {
      const Tensor& own = *inputs[replica * inputs_ + k];
      own.bytes();  // refuses what a function traces
      values.push_back(own.node()->dense());
    }
    // It is gone behind the run.
    if (donated) return device_.upload_each(values);
    Kept& kept = kept_[k];
    if (kept.values != values || !kept.there) {
      kept.there = device_.upload_each(values);
      kept.values.clear();
      const bool small = values[0].raw_bytes() <= kLargest;
      for (const Literal& value : values)
        if (small) kept.values.push_back(Literal::copy(value.type(), value.raw()));
    }
    return kept.there;
  }

  Device& device_;
  const size_t replicas_, inputs_;  // inputs of the graph
  size_t arguments_ = 0;
  const std::shared_ptr<const DeviceProgram> program_;
  const Needs needs_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;
};

}  // namespace

bool lies_on(const Tensor& tensor, const Device& device) {
  const RemoteArrayPtr& remote = tensor.node()->remote();
  return remote && &remote->device() == &device;
}

RemoteArrayPtr array_on(const Tensor& tensor, Device& device) {
  return lies_on(tensor, device) ? tensor.node()->remote() : device.upload(tensor.node()->literal());
}

RemoteArrayPtr array_of_each(std::span<const Tensor> tensors, Device& device) {
  std::vector<Literal> values;
  for (const Tensor& tensor : tensors) {
    tensor.bytes();  // refuses what a function traces
    values.push_back(tensor.node()->dense());
  }
  return device.upload_each(values);
}

std::shared_ptr<Program> DevicePlace::make(std::span<const PlacedGraph> graphs) const {
  require_equal_arguments(graphs, device->world());
  if (key.replicas) require_equal_updates(*graphs[0].graph);
  const GraphPtr optimized = optimize(graphs[0].graph);
  const ProgramOptions options{.aliases = graphs[0].pairs, .precision = key.precision};
  // Devices of several processes that run one program meet in it.
  const bool staged =
      context_.communicator && key.world > 1 && device->world() == 1 && meets_processes(*optimized);
  auto program = staged ? compile_in_stages(*optimized, options, *device, context_)
                        : device->compile(*optimized, options);
  if (graphs.size() > 1)
    return std::make_shared<ProgramOnDevices>(*device, graphs.size(), std::move(program), *graphs[0].graph);
  return std::make_shared<ProgramOnDevice>(*device, std::move(program), *graphs[0].graph);
}

Tensor DevicePlace::value_of(const Tensor& result, size_t replica) const {
  return device->replicas() > 1 ? make_concrete(result.node()->remote()->download(replica)) : result;
}

}  // namespace espalier
