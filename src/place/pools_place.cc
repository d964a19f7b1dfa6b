#include "place/pools_place.h"

#include <exception>
#include <string>
#include <utility>

#include "base/object_pool.h"
#include "espalier/communicator.h"
#include "espalier/error.h"
#include "passes/pass.h"
#include "place/shares.h"
#include "runtime/executable.h"

namespace espalier {

class PoolsPlace::PoolsProgram final : public Program {
 public:
  PoolsProgram(const PoolsPlace& place, std::span<const PlacedGraph> graphs) : place_(place) {
    require_parts_of_one_batch(graphs);
    std::map<std::string_view, size_t> owners;
    for (size_t i = 0; i < graphs.size(); ++i) {
      const Graph& graph = *graphs[i].graph;
      // Of replicas on as many rows all is one.
      if (i == 0 || graphs[i].graph != graphs[i - 1].graph) {
        const std::vector<size_t> shares = share_updates(graph, graphs.size());
        size_t update = 0;
        for (const GraphOutput& output : graph.outputs())
          if (output.kind == OutputKind::kUpdate) owners.try_emplace(output.name, shares[update++]);
      }
      parts_.push_back(part_of(graphs[i], i, owners));
    }
  }

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext&) const override {
    std::unique_ptr<Run> run = idle_.take();
    if (!run) run = std::make_unique<Run>(parts_.size());
    size_t first_input = 0, first_output = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      Lists& lists = run->lists[i];
      lists.inputs.clear();
      lists.outputs.clear();
      for (size_t k = 0; k < parts_[i].inputs; ++k) {
        const Tensor& input = *inputs[first_input + k];
        lists.inputs.push_back({&input.type(), input.bytes()});
      }
      for (const Output& output : parts_[i].own) {
        Buffer buffer =
            output.donor == kNone ? allocate_buffer(output.type.bytes()) : place_.take(output.type.bytes());
        lists.outputs.push_back({&output.type, buffer.get()});
        outputs[first_output + output.number] = make_concrete(Literal(output.type, std::move(buffer)));
      }
      first_input += parts_[i].inputs;
      first_output += parts_[i].outputs;
    }
    place_.on_each([&](size_t i) { run_part(i, run->lists[i]); });
    rethrow(run->lists);
    first_input = 0;
    // Nobody reads the old values any more.
    for (const Part& part : parts_) {
      for (const Output& output : part.own) {
        if (output.donor == kNone || !donated[first_input + output.donor]) continue;
        const TensorNode& node = *inputs[first_input + output.donor]->node();
        if (!node.remote() && !node.literal().is_splat())
          place_.give(output.type.bytes(), node.literal().buffer());
      }
      first_input += part.inputs;
    }
    idle_.give(std::move(run));
  }

  std::optional<size_t> bytes() const override {
    size_t out = 0;
    for (const Part& part : parts_) out += part.executable->bytes();
    return out;
  }

 private:
  // What a replica gives.
  struct Output {
    size_t number;   // in the whole graph
    uint32_t donor;  // the input that is its pair; kNone: a result
    TensorType type;
  };
  struct Part {
    std::shared_ptr<const Executable> executable;
    size_t inputs = 0, outputs = 0;  // of the whole graph
    std::vector<Output> own;
  };
  struct Lists {
    std::vector<ArrayView> inputs;
    std::vector<MutableArrayView> outputs;
    std::exception_ptr error;
    bool waited = false;  // what it raised is that others have failed
  };
  struct Run {
    explicit Run(size_t replicas) : lists(replicas) {}
    std::vector<Lists> lists;
  };

  Part part_of(const PlacedGraph& placed, size_t replica,
               const std::map<std::string_view, size_t>& owners) const {
    const Graph& graph = *placed.graph;
    Part out;
    out.inputs = graph.inputs().size();
    out.outputs = graph.outputs().size();
    std::vector<uint32_t> donors(out.outputs, kNone);
    for (const Alias& pair : placed.pairs) donors[pair.output] = static_cast<uint32_t>(pair.input);
    std::vector<size_t> kept;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const GraphOutput& output = graph.outputs()[i];
      if (output.kind == OutputKind::kUpdate && owners.at(output.name) != replica) continue;
      kept.push_back(i);
      out.own.push_back({i, donors[i], graph.type(output.value)});
    }
    out.executable = espalier::compile(optimize(with_outputs(graph, kept)), {.world = place_.key.world});
    return out;
  }

  void run_part(size_t i, Lists& lists) const {
    const RunContext& context = *place_.contexts_[i];
    lists.error = nullptr;
    lists.waited = false;
    try {
      run_unchecked(*parts_[i].executable, lists.inputs, lists.outputs, context);
    } catch (const Error& error) {
      lists.error = std::current_exception();
      lists.waited = error.rule() == "comm.verdict";
      if (context.communicator) context.communicator->abort(error.message());
    } catch (const std::exception& error) {
      lists.error = std::current_exception();
      if (context.communicator) context.communicator->abort(error.what());
    }
  }

  static void rethrow(const std::vector<Lists>& all) {
    for (const bool waited : {false, true}) {
      for (const Lists& lists : all)
        if (lists.error && lists.waited == waited) std::rethrow_exception(lists.error);
    }
  }

  const PoolsPlace& place_;
  std::vector<Part> parts_;
  mutable ObjectPool<Run> idle_;
};

PoolsPlace::PoolsPlace(std::vector<const RunContext*> contexts)
    : Place({new_place_number(), contexts[0]->rank, contexts[0]->world, true}, nullptr),
      contexts_(std::move(contexts)),
      threads_(contexts_.size()) {}

std::shared_ptr<Program> PoolsPlace::make(std::span<const PlacedGraph> graphs) const {
  return std::make_shared<PoolsProgram>(*this, graphs);
}

Buffer PoolsPlace::take(size_t bytes) const {
  {
    const std::lock_guard lock(mutex_);
    const auto it = spare_.find(bytes);
    if (it != spare_.end()) {
      Buffer out = std::move(it->second);
      spare_.erase(it);
      // Somebody may have taken hold of it since.
      if (out.use_count() == 1) return out;
    }
  }
  return allocate_buffer(bytes);
}

void PoolsPlace::give(size_t bytes, Buffer buffer) const {
  const std::lock_guard lock(mutex_);
  spare_.emplace(bytes, std::move(buffer));
}

}  // namespace espalier
