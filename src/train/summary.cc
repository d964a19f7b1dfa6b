#include <map>
#include <set>

#include "eager/generator.h"
#include "ir/graph.h"
#include "nn/build_transaction.h"
#include "nn/layer_observer.h"
#include "report/table.h"
#include "runtime/profile.h"
#include "train/step.h"

namespace espalier {
namespace {

struct Row {
  std::string path = {}, outputs = {};
  int64_t parameters = 0;
  size_t bytes = 0;
  double flops = 0;
  size_t activations = 0;
  bool calls = false;  // other layers
};

// One row for each place that layers are called at.
class Calls final : public LayerObserver {
 public:
  void on_begin(const std::string& path) override {
    const std::string& scope = NameScope::current();
    if (by_scope_.try_emplace(scope, rows.size()).second) rows.push_back({.path = path});
    const auto caller = by_scope_.find(std::string_view(scope).substr(0, scope.rfind('/')));
    if (caller != by_scope_.end() && caller->first != scope) rows[caller->second].calls = true;
  }

  void on_end(std::span<const Variable> own, std::span<const Tensor> outputs) override {
    Row& row = rows[by_scope_.at(NameScope::current())];
    row.outputs.clear();
    for (const Tensor& output : outputs) {
      row.outputs += cat(row.outputs.empty() ? "" : " ", output.type());
      row.activations += output.type().bytes();
    }
    for (const Variable& variable : own) {
      if (is_random_state(variable) || !met_.insert(variable.state().get()).second) continue;
      const int64_t elements = variable.type().elements();
      row.parameters += elements;
      row.bytes += variable.type().bytes();
      (variable.trainable() ? trainable : frozen) += elements;
    }
  }

  // To the innermost layer around it.
  void count(std::string_view scope, double flops) {
    for (;;) {
      const auto it = by_scope_.find(scope);
      if (it != by_scope_.end()) {
        rows[it->second].flops += flops;
        return;
      }
      const size_t slash = scope.rfind('/');
      if (slash == std::string_view::npos) return;
      scope = scope.substr(0, slash);
    }
  }

  std::vector<Row> rows;
  int64_t trainable = 0, frozen = 0;

 private:
  std::map<std::string, size_t, std::less<>> by_scope_;
  std::set<const VariableState*> met_;
};

std::string whole(double value) { return fixed(value, 0); }

}  // namespace

std::string Model::summary(Location at) {
  const CallScope scope(at);
  const std::vector<TensorType> types = input_types();
  if (types.empty()) {
    throw StateError("summary.built", "the model has no layers before its first call",
                     "call the model, fit() or predict() first");
  }
  const Running run_this(*this);
  const BuildTransaction transaction;
  Tensors inputs;
  for (const TensorType& type : types) inputs.push_back(full(type.shape, 0, type.dtype));
  Calls calls;
  const std::shared_ptr<const Graph> graph = shared_->forward.graph(inputs);
  for (const Node& node : graph->nodes()) calls.count(graph->scope(node), flops_of(*graph, node));

  Table table({"layer", "output", "parameters", "bytes", "FLOPs"});
  double flops = 0;
  size_t bytes = 0, activations = 0;
  for (const Row& row : calls.rows) {
    table.row({row.path, row.outputs, row.parameters, row.bytes, whole(row.flops)});
    flops += row.flops;
    bytes += row.bytes;
    if (!row.calls) activations += row.activations;
  }
  table.row({"total", "", calls.trainable + calls.frozen, bytes, whole(flops)});
  return cat(table.text(Terminal{}), "trainable parameters: ", calls.trainable, ", others: ", calls.frozen,
             "; activations: ", activations, " bytes\n");
}

}  // namespace espalier
