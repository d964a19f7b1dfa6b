// What a compiled model keeps: its traced steps and the variables that metrics live in.
#pragma once

#include <utility>

#include "base/format.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "train/metric.h"

namespace espalier {

struct Rows;

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
  // Loss and metrics over these rows.
  Logs test(const Rows& rows, int64_t batch_size);

  // What class labels must lie in: of the labels at hand, and of the outputs once they are known.
  void check_labels() const;

  ModelOptions options;
  struct {
    const char* rule = "fit.labels";
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
