// Models whose products are made of 8-bit integers: in C a quarter of the weights' memory. Here they run by
// the f32 kernels, to the bits of integers, in the memory of f32 and up to three times its time.
#pragma once

#include <functional>
#include <memory>

#include "espalier/model.h"

namespace espalier {

struct QuantizeOptions {
  // Of the elements that an activation takes on the calibration rows: below 100, as many at each end are cut
  // off.
  double percentile = 100;
  int64_t batch_size = 256;
  // Called with the number of rows whose ranges are known.
  std::function<void(int64_t)> on_rows = {};
};

// What quantize() makes: it predicts, is evaluated and saved as any model, and cannot be trained.
class QuantizedModel : public Model {
 public:
  // How many products became products of integers.
  size_t products() const;
  bool can_be_trained() const override { return false; }

 protected:
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  friend QuantizedModel quantize(Model& model, const TensorList& rows, const QuantizeOptions& options,
                                 Location at);
  struct Program;
  QuantizedModel(std::shared_ptr<const Program> program, Location at);
  std::shared_ptr<const Program> program_;
};

// The inference of `model` with its products of f32 by weights (dense layers, convolutions) on 8-bit
// integers: weights by output channel, activations by the range that they take on `rows`, sums in i32, all
// else as before. Weights are copied: training `model` further changes nothing here. What it costs in
// accuracy is for the caller to measure. Raises what predict_all(rows) raises,
// ValueError[quantize.percentile] outside of (50, 100], UnsupportedError[quantize.products] for a model
// without such a product, ShapeError[quantize.rows] for fewer rows than a model of fixed batch size needs.
QuantizedModel quantize(Model& model, const TensorList& rows, const QuantizeOptions& options = {},
                        Location at = Location::here());

}  // namespace espalier
