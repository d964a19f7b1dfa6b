#include "place/staged_program.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "base/format.h"
#include "base/thread_stacks.h"
#include "espalier/communicator.h"
#include "espalier/run_context.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "ops/registry.h"
#include "passes/cut_graph.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

void check_regions(const Graph& graph, const Node& node) {
  for (const GraphPtr& region : graph.regions(node)) {
    for (const Node& inner : region->nodes()) {
      if (is_collective(*inner.op) || inner.op == &op_replica_id) {
        const CallScope call(region->location(inner));
        throw UnsupportedError("device.program", cat(inner.op->name, ": inside of ", node.op->name,
                                                     " processes with devices of their own cannot meet"));
      }
      check_regions(*region, inner);
    }
  }
}

// Of this process the place is known.
std::shared_ptr<const Graph> with_rank(const Graph& graph, int rank) {
  Rewriter rewriter(graph);
  const SinkScope scope(rewriter.builder());
  for (const Node& node : graph.nodes()) {
    if (node.op == &op_replica_id)
      rewriter.replace(node.first_result, Tensor::scalar(static_cast<uint32_t>(rank)));
    else
      rewriter.copy(node);
  }
  return rewriter.finish();
}

struct StageOnDevice {
  std::shared_ptr<const DeviceProgram> program;
  std::vector<ValueId> inputs, outputs;
};
struct ExchangeHere {
  std::shared_ptr<const Executable> executable;
  std::vector<ValueId> inputs, outputs;
  size_t behind = 0;
};

using Arrays = std::vector<RemoteArrayPtr>;

// The exchanges of one run, on a thread of its own. They begin in their order, each when its operands are
// there, and end in that order: when a result is asked for, before one that is done as it begins, and when
// all have begun. So all others are under way at once while the device computes, and each rank begins and
// ends them in the same order.
class Exchanges {
 public:
  Exchanges(const std::vector<ExchangeHere>& all, Device& device, const RunContext& context)
      : all_(all), device_(device), context_(context), got_(all.size()) {
    for (auto& promise : got_) results_.push_back(promise.get_future());
    const ThreadStacks stacks;
    if (!all_.empty()) task_ = std::async(std::launch::async, [this] { work(); });
  }
  ~Exchanges() {
    if (!task_.valid()) return;
    {
      const std::lock_guard lock(mutex_);
      // Others would wait for what does not come.
      if (given_.size() < all_.size() && context_.communicator)
        context_.communicator->abort("a stage of the step failed on the device");
      gone_ = true;
    }
    changed_.notify_one();
    task_.wait();
  }
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // In their order.
  void give(Arrays operands) {
    {
      const std::lock_guard lock(mutex_);
      given_.push_back(std::move(operands));
    }
    changed_.notify_one();
  }
  // Waits for it. REQUIRES: its operands were given, and nobody has asked before.
  Arrays get(size_t i) {
    {
      const std::lock_guard lock(mutex_);
      asked_ = std::max(asked_, i + 1);
    }
    changed_.notify_one();
    return results_[i].get();
  }

 private:
  void work() {
    const RunScope scope(context_);
    std::vector<std::unique_ptr<BegunRun>> begun;
    size_t ended = 0;
    const auto end_next = [&] {
      Arrays out;
      for (const Literal& value : begun[ended]->end()) out.push_back(device_.upload(value));
      got_[ended++].set_value(std::move(out));
    };
    try {
      while (ended < all_.size()) {
        std::unique_lock lock(mutex_);
        const auto ends = [&] {
          return ended < begun.size() && (asked_ > ended || begun.size() == all_.size());
        };
        changed_.wait(lock, [&] { return given_.size() > begun.size() || ends() || gone_; });
        if (given_.size() > begun.size()) {
          const Arrays operands = std::move(given_[begun.size()]);
          lock.unlock();
          std::vector<Literal> values;
          for (const RemoteArrayPtr& array : operands) values.push_back(array->download());
          const Executable& next = *all_[begun.size()].executable;
          while (!next.begins_apart() && ended < begun.size()) end_next();
          begun.push_back(std::make_unique<BegunRun>(next, values, context_));
        } else if (ends()) {
          lock.unlock();
          end_next();
        } else {
          break;
        }
      }
    } catch (...) {
      for (size_t i = ended; i < all_.size(); ++i) got_[i].set_exception(std::current_exception());
    }
    // Those that nobody asks for any more end in their order, too.
    for (auto& run : begun) run.reset();
  }

  const std::vector<ExchangeHere>& all_;
  Device& device_;
  const RunContext& context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrays> given_;
  size_t asked_ = 0;   // how many are to end, also before the others begin
  bool gone_ = false;  // nobody gives or asks any more
  std::vector<std::promise<Arrays>> got_;
  std::vector<std::future<Arrays>> results_;
  std::future<void> task_;
};

class StagedProgram final : public DeviceProgram {
 public:
  StagedProgram(const Graph& whole, const ProgramOptions& options, Device& device, const RunContext& context)
      : name_(whole.name()), device_(device) {
    for (const Node& node : whole.nodes()) check_regions(whole, node);
    const auto with_own_rank = with_rank(whole, context.rank);
    const Graph& graph = *with_own_rank;
    for (const GraphInput& input : graph.inputs()) inputs_.push_back(input.value);
    for (const GraphOutput& output : graph.outputs()) outputs_.push_back(output.value);
    CutGraph cut = cut_graph(graph, [](const Node& node) { return is_collective(*node.op); });
    for (size_t i = 0; i < cut.stages.size(); ++i) {
      GraphPiece& part = cut.stages[i];
      std::vector<Alias> own;
      if (i + 1 == cut.stages.size()) {
        for (const Alias& alias : options.aliases) {
          const auto input = std::ranges::find(part.inputs, inputs_[alias.input]);
          const auto output = std::ranges::find(part.outputs, outputs_[alias.output]);
          if (input == part.inputs.end() || output == part.outputs.end()) continue;
          // An old value that is a result as well stays.
          if (std::ranges::count(outputs_, *input)) continue;
          own.push_back({static_cast<size_t>(input - part.inputs.begin()),
                         static_cast<size_t>(output - part.outputs.begin())});
        }
      }
      // The last one may have nothing left to do.
      std::shared_ptr<const DeviceProgram> program;
      if (!part.outputs.empty())
        program = device.compile(*optimize(graph_of(graph, part, cat(graph.name(), "/", i))),
                                 {.aliases = own, .precision = options.precision});
      stages_.push_back({std::move(program), std::move(part.inputs), std::move(part.outputs)});
      if (i + 1 == cut.stages.size()) last_ = std::move(own);
    }
    for (size_t i = 0; i < cut.cuts.size(); ++i) {
      GraphPiece& part = cut.cuts[i];
      exchanges_.push_back({espalier::compile(graph_of(graph, part, cat(graph.name(), "/exchange ", i)),
                                              {.world = context.world}),
                            std::move(part.inputs), std::move(part.outputs), cut.behind[i]});
    }
  }

  Arrays run(std::span<const RemoteArrayPtr> inputs, std::span<const char> donated,
             const RunContext& context) const override {
    std::map<ValueId, RemoteArrayPtr> values;
    std::set<ValueId> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[inputs_[i]] = inputs[i];
      if (!donated.empty() && donated[i]) given.insert(inputs_[i]);
    }
    if (context.communicator) context.communicator->begin_program(name_);
    Exchanges exchanges(exchanges_, device_, context);
    size_t begun = 0;
    std::vector<char> had(exchanges_.size(), false);
    const auto of = [&](const std::vector<ValueId>& wanted) {
      Arrays out;
      for (const ValueId value : wanted) {
        for (size_t i = 0; !values.contains(value) && i < exchanges_.size(); ++i) {
          if (had[i] || !std::ranges::count(exchanges_[i].outputs, value)) continue;
          had[i] = true;
          const Arrays results = exchanges.get(i);
          for (size_t k = 0; k < results.size(); ++k) values[exchanges_[i].outputs[k]] = results[k];
        }
        out.push_back(values.at(value));
      }
      return out;
    };
    const auto begin_behind = [&](size_t stages) {
      for (; begun < exchanges_.size() && exchanges_[begun].behind <= stages; ++begun)
        exchanges.give(of(exchanges_[begun].inputs));
    };
    for (size_t i = 0; i < stages_.size(); ++i) {
      begin_behind(i);
      const StageOnDevice& stage = stages_[i];
      const Arrays arrays = of(stage.inputs);
      std::vector<char> kept(arrays.size(), false);
      if (i + 1 == stages_.size()) {
        // All others have come that may fail: from here on old values go.
        for (size_t k = 0; k < exchanges_.size(); ++k) of(exchanges_[k].outputs);
        for (const Alias& alias : last_) kept[alias.input] = given.contains(stage.inputs[alias.input]);
      }
      if (!stage.program) continue;
      const Arrays results = stage.program->run(arrays, kept, context);
      for (size_t k = 0; k < results.size(); ++k) values[stage.outputs[k]] = results[k];
    }
    return of(outputs_);
  }

 private:
  const std::string name_;
  Device& device_;
  std::vector<ValueId> inputs_, outputs_;
  std::vector<StageOnDevice> stages_;
  std::vector<ExchangeHere> exchanges_;
  std::vector<Alias> last_;  // of the last stage
};

}  // namespace

bool meets_processes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_collective(*node.op) || node.op == &op_replica_id ||
           std::ranges::any_of(graph.regions(node),
                               [](const GraphPtr& region) { return meets_processes(*region); });
  });
}

std::shared_ptr<const DeviceProgram> compile_in_stages(const Graph& graph, const ProgramOptions& options,
                                                       Device& device, const RunContext& context) {
  return std::make_shared<StagedProgram>(graph, options, device, context);
}

}  // namespace espalier
