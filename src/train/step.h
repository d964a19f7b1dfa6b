// What a compiled model keeps: its traced steps and the variables that metrics live in.
#pragma once

#include <utility>

#include "base/format.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "train/metric.h"
#include "train/step_batches.h"

namespace espalier {

// The copy of a model that this thread runs: its steps belong to all copies, so they hold none.
class Running {
 public:
  explicit Running(Model& model) : before_(std::exchange(now_, &model)) {}
  ~Running() { now_ = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  static Model* model() { return now_; }

 private:
  static inline thread_local Model* now_ = nullptr;
  Model* before_;
};

struct Rows;

struct Model::Training {
  Training(ModelOptions options);
  // Adds a batch to what `logs` says.
  void observe(const Tensor& losses, const Tensor& labels, const Tensor& outputs, const Tensor& weights);
  Logs logs() const;
  // Brings `logs`, which logs() made, up to date.
  void refresh(Logs& logs) const;
  void reset();
  // What steps change: the variables of model, optimizer and metrics and the default generator, each under a
  // name of its own.
  std::vector<std::pair<std::string, Variable>> variables(const Model& model) const;
  // Runs the epochs of the model that runs; `stop` ends them, `validate`, if any, gives the logs of an epoch
  // that begin with "val_".
  std::vector<Logs> fit(TrainingBatches& batches, const FitOptions& options,
                        const std::function<Logs()>& validate, bool& stop);
  // What fit's validate is, for these rows or validation_data; empty without. Both outlive it.
  std::function<Logs()> validation(const Rows& rows, const FitOptions& options);
  // Loss and metrics over these batches.
  Logs test(StepBatches& batches);

  // What class labels must lie in: of the labels at hand, and of the outputs once they are known.
  void check_labels() const;
  // Remembers which class numbers `y` holds, and checks them against outputs that are known already; rows are
  // those `of` something.
  void take_labels(const char* rule, const Tensor& y, const char* of = "");
  // The same, for batch after batch.
  std::function<void(const Tensor& y)> labels_check(const char* rule);

  ModelOptions options;
  struct {
    const char *rule = "fit.labels", *of = "";
    int64_t least = 0, most = 0, least_row = 0, most_row = 0;
  } labels;
  int64_t classes = -1;
  RunningMean loss;
  std::unique_ptr<TracedFunction> train_step, test_step;  // of x, y and the weight of each row
};

// What copies of a model have in common, besides the state of layers.
struct Model::Shared {
  Shared();
  TracedFunction forward;
  std::shared_ptr<Training> training;  // null before compile()
  bool stop = false;                   // asked of the run of fit()
};

}  // namespace espalier
