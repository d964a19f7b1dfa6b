#include "espalier/quantize.h"

#include <algorithm>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "passes/bind_variables.h"
#include "passes/quantize.h"
#include "runtime/executable.h"
#include "text/text.h"
#include "train/program.h"

namespace espalier {

struct QuantizedModel::Program {
  ProgramTemplate text;
  std::map<std::string, Literal> values;
  std::vector<ActivationRange> ranges;

  std::shared_ptr<const Graph> graph(int64_t batch) const {
    return bind_variables(*parse_program(text.at(batch)), values);
  }
};

namespace {

// Rows of each input.
Tensors part_of(const Tensors& inputs, int64_t first, int64_t count) {
  Tensors out;
  for (const Tensor& rows : inputs) {
    Dims start = Dims::filled(rows.rank(), 0), limit = rows.shape();
    start[0] = first;
    limit[0] = first + count;
    out.push_back(slice(rows, start, limit));
  }
  return out;
}

// The activations that quantize() rounds, on the rows from `first` on.
class Activations {
 public:
  Activations(const Graph& graph, int64_t batch)
      : batch_(batch), executable_(compile(quantized_activations(graph))) {}
  int64_t batch() const { return batch_; }
  std::vector<Literal> operator()(const Tensors& rows, int64_t first) const {
    std::vector<Literal> inputs;
    for (const Tensor& part : part_of(rows, first, batch_)) inputs.push_back(part.node()->dense());
    return run(*executable_, inputs, RunContext::current());
  }

 private:
  int64_t batch_;
  std::shared_ptr<const Executable> executable_;
};

// The ranges of several batches together. Without tails to cut, only their ends are kept.
class Ranges {
 public:
  explicit Ranges(double percentile) : percentile_(percentile) { range_of({}, percentile); }

  void add(const std::vector<Literal>& activations) {
    seen_.resize(activations.size());
    ranges_.resize(activations.size());
    for (size_t i = 0; i < activations.size(); ++i) {
      if (percentile_ < 100) {
        seen_[i].push_back(activations[i]);
        continue;
      }
      const ActivationRange one = range_of({&activations[i], 1});
      ranges_[i] = {std::min(ranges_[i].low, one.low), std::max(ranges_[i].high, one.high)};
    }
  }

  std::vector<ActivationRange> finish() const {
    if (percentile_ == 100) return ranges_;
    std::vector<ActivationRange> out;
    for (const std::vector<Literal>& batches : seen_) out.push_back(range_of(batches, percentile_));
    return out;
  }

 private:
  double percentile_;
  std::vector<std::vector<Literal>> seen_;
  std::vector<ActivationRange> ranges_;
};

}  // namespace

QuantizedModel::QuantizedModel(std::shared_ptr<const Program> program, Location at)
    : Model("quantized", "float32", at), program_(std::move(program)) {
  keep_input_dtype();
}

size_t QuantizedModel::products() const { return program_->ranges.size(); }

Tensors QuantizedModel::call_many(Inputs<Tensor> inputs) {
  return inline_graph(*quantize(*program_->graph(inputs[0].size(0)), program_->ranges), inputs);
}

QuantizedModel quantize(Model& model, const TensorList& rows, const QuantizeOptions& options, Location at) {
  const CallScope scope(at);
  Ranges ranges(options.percentile);
  model.predict_all(rows, options.batch_size);
  const Tensors& inputs = rows.tensors();
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    types.push_back(input.type());
    types.back().shape.erase(0);
  }
  const int64_t count = inputs[0].size(0), asked = std::min(options.batch_size, count);
  const ModelProgram traced = model_program(model, types, asked, false);
  QuantizedModel::Program program{traced.text, values_of(traced.variables), {}};

  const int64_t batch = traced.fixed_batch ? traced.fixed_batch : asked;
  if (batch > count)
    throw ShapeError("quantize.rows", cat("the model takes batches of ", batch, " rows alone, got ", count));
  std::optional<Activations> activations;
  for (int64_t first = 0; first < count; first += batch) {
    const int64_t size = std::min(batch, count - first);
    if (traced.fixed_batch && size != batch) break;
    if (!activations || activations->batch() != size) activations.emplace(*program.graph(size), size);
    ranges.add((*activations)(inputs, first));
    if (options.on_rows) options.on_rows(first + size);
  }
  program.ranges = ranges.finish();
  if (program.ranges.empty())
    throw UnsupportedError(
        "quantize.products",
        "the model has no product of f32 by weights; one that is quantised already has none");
  QuantizedModel out(std::make_shared<const QuantizedModel::Program>(std::move(program)), at);
  out.predict_all(part_of(inputs, 0, batch), batch);
  return out;
}

}  // namespace espalier
