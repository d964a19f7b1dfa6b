#include "train/export.h"

#include "base/format.h"
#include "format/onnx.h"
#include "format/stablehlo.h"
#include "passes/bind_variables.h"
#include "train/program.h"

namespace espalier {
namespace {

void require_batch(const LoadedModel& model, int64_t batch) {
  const int64_t fixed = model.fixed_batch();
  if (batch < 1 || (fixed != 0 && batch != fixed))
    throw ValueError("export.batch", cat("the model takes ", fixed ? std::to_string(fixed) : "1 or more",
                                         " rows, not ", batch));
}

}  // namespace

std::string model_onnx(LoadedModel& model, int64_t batch, const std::string& doc,
                       const std::map<std::string, std::string>& metadata) {
  const auto at = [&](int64_t rows) { return trace_for_export(model, rows); };
  if (batch == 0) batch = model.fixed_batch();
  if (batch != 0) {
    require_batch(model, batch);
    const TracedModel traced = at(batch);
    return onnx_bytes(*traced.graph, values_of(traced.variables), {.doc = doc, .metadata = metadata});
  }
  const TracedModel traced = at(kProbeBatchSizes[0]), other = at(kProbeBatchSizes[1]);
  return onnx_bytes(*traced.graph, values_of(traced.variables),
                    {.other_batch = other.graph.get(), .doc = doc, .metadata = metadata});
}

std::string model_stablehlo(LoadedModel& model, const StablehloOptions& options) {
  require_batch(model, options.batch);
  const TracedModel traced = trace_for_export(model, options.batch);
  return options.weights_as_arguments
             ? stablehlo_text(*traced.graph)
             : stablehlo_text(*bind_variables(*traced.graph, values_of(traced.variables)));
}

}  // namespace espalier
