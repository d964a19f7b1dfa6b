// Ids among the inputs of a model, held against the rows that its embeddings have, as labels are against
// classes.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/ids_observer.h"

namespace espalier {

// The least and the largest number of integers in rows, and their rows.
struct Extremes {
  int64_t least = 0, most = 0, least_row = 0, most_row = 0;
};
// Of rows that count: f32[rows] `weights`, where they are given. Nothing without any. REQUIRES: the first
// axis is that of the rows.
std::optional<Extremes> extremes_of(const Tensor& integers, const Tensor& weights = {});

// What traces of a model found: copies of it share them.
struct KnownIds {
  struct Layer {
    size_t input;
    int64_t count;
    std::string path;
  };
  std::mutex mutex;
  std::vector<Layer> layers;
};

// While it lives, the traces of this thread's steps and predictions tell it which of the model's inputs are
// ids.
class IdsCheck final : IdsObserver {
 public:
  // Raises ValueError[rule] for one that is none; rows are those `of` something.
  IdsCheck(KnownIds& known, const char* rule, const char* of = "") : known_(known), rule_(rule), of_(of) {}
  // The rows of the next steps: those of the inputs and, where they are weighted, their weights. They stay as
  // long as the steps.
  void take(std::span<const Tensor> x, const Tensor& weights = {});

  // While it lives, what the current trace is given are the inputs of the model.
  class Applied {
   public:
    Applied();
    ~Applied();

   private:
    const void* before_;
  };

 private:
  bool on_ids(const Tensor& ids, int64_t count, const std::string& path) override;
  void check(const KnownIds::Layer& layer) const;

  KnownIds& known_;
  const char* rule_;
  const char* of_;
  std::span<const Tensor> x_;
  Tensor weights_;
};

}  // namespace espalier
