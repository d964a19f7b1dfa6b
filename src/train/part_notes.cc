#include "train/part_notes.h"

#include <exception>
#include <utility>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/run_context.h"
#include "ir/sink.h"

namespace espalier {
namespace {

std::string part_of_rows(const std::string& what, const std::string& part) {
  std::string out = cat("rows of a batch meet in ", what, ", and each ", part,
                        " sees its own rows alone, so that this is another model than on one device");
  if (part == "replica") out += "; strategy::all_reduce() in it reaches the rows of others";
  return out;
}

}  // namespace

void PartNotes::say(const std::string& note) {
  if (known_.insert(note).second) due_.insert(note);
}

void PartNotes::add(const BatchPlaceScope::Met& met, const std::string& part) {
  for (const std::string& layer : met.layers) say(part_of_rows(cat("layer \"", layer, "\""), part));
  for (const std::string& layer : met.of_one)
    say(cat("layer \"", layer, "\" normalizes by one row, whose variance is 0, where a ", part,
            " has a single row of a batch: it learns nothing there. Take larger batches, or ",
            part == "replica"
                ? "BatchNormalization({.synchronized = true}), which takes the rows of all replicas"
                : "fewer logical shards"));
}

void PartNotes::add(const Loss& loss, const TensorType& labels, const TensorType& outputs,
                    const std::string& part) {
  if (!losses_.insert(loss.name).second || !loss_rows_interact(loss, labels, outputs)) return;
  say(part_of_rows(cat("loss \"", loss.name, "\""), part));
}

std::vector<std::string> PartNotes::tell() {
  const std::set<std::string> due = std::exchange(due_, {});
  return {due.begin(), due.end()};
}

bool loss_rows_interact(const Loss& loss, const TensorType& labels, const TensorType& outputs) {
  constexpr int64_t kRows = 4;
  if (labels.shape.empty() || outputs.shape.empty() || !is_float(outputs.dtype)) return false;
  const RunContext here({.shares = &RunContext::current()});
  const RunScope scope(here);
  const EagerScope eager;
  try {
    Shape of_labels = labels.shape, of_outputs = outputs.shape;
    of_labels[0] = of_outputs[0] = kRows;
    const auto labels_of = [&](std::initializer_list<float> kinds) {
      return convert(broadcast_in_dim(Tensor::of<float>(kinds), of_labels, {0}), labels.dtype);
    };
    const Tensor y = labels_of({0, 1, 0, 1}), other_labels = labels_of({0, 0, 0, 1});
    const auto drawn = [&](int seed) {
      return convert(random_uniform(of_outputs, seed, 0, 0.1, 0.9, DType::kF32), outputs.dtype);
    };
    const auto between = [&](const Tensor& rows, int64_t begin, int64_t end) {
      Dims start, limit;
      for (const int64_t size : of_outputs) {
        start.push_back(start.size() ? 0 : begin);
        limit.push_back(limit.size() ? size : end);
      }
      return slice(rows, start, limit);
    };
    const Tensor x = drawn(1), others = concatenate({between(x, 0, 1), between(drawn(2), 1, kRows)}, 0);
    const auto loss_of_first = [&](const Tensor& of, const Tensor& given) {
      return convert(loss.of_rows(of, given), DType::kF32).data<float>()[0];
    };
    const float alone = loss_of_first(y, x);
    return alone != loss_of_first(y, others) || alone != loss_of_first(other_labels, x);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace espalier
