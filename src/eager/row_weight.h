// Which rows of a batch count, for layers whose rows interact, as under batch statistics.
#pragma once

#include "espalier/tensor.h"

namespace espalier {

// While it lives, layers that this thread calls see `weight`, f32[rows]: 1 for rows that count, 0 for those
// that do not. Undefined: all count. The innermost one counts.
class RowWeightScope {
 public:
  explicit RowWeightScope(Tensor weight);
  ~RowWeightScope();
  RowWeightScope(const RowWeightScope&) = delete;
  RowWeightScope& operator=(const RowWeightScope&) = delete;
  static const Tensor& current();
  // That of the current scope, for an array of its rows; undefined for others, and where all count.
  static Tensor of(const Tensor& rows);
  // Whether somebody has looked.
  bool asked() const { return asked_; }

 private:
  const Tensor weight_;
  bool asked_ = false;
  RowWeightScope* before_;
};

// While it lives, steps of this thread have rows of weight 0 that layers must know of. They are other plans
// than those for batches whose rows all count: these keep their speed and their bits.
class SomeRowsCount {
 public:
  explicit SomeRowsCount(bool value);
  ~SomeRowsCount();
  SomeRowsCount(const SomeRowsCount&) = delete;
  SomeRowsCount& operator=(const SomeRowsCount&) = delete;
  static bool current();

 private:
  bool before_;
};

}  // namespace espalier
