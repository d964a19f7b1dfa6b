// Layers that pool windows of images f[batch, height, width, channels].
#pragma once

#include <string>

#include "espalier/layers.h"

namespace espalier {

struct MaxPooling2DOptions {
  HeightWidth pool_size = 2;
  HeightWidth strides = {};       // empty: pool_size
  std::string padding = "valid";  // or "same": output size is input size / stride, rounded up
  std::string name = "max_pooling2d";
  DTypePolicy dtype = {};
};
// The largest element under each window: f[batch, height', width', channels]. Raises
// ShapeError[max_pooling2d.window] when a "valid" window is larger than the image.
class MaxPooling2D : public Layer {
 public:
  // Raises ValueError for windows that are not two positive numbers and unknown names.
  explicit MaxPooling2D(MaxPooling2DOptions options = {}, Location at = Location::here());
  explicit MaxPooling2D(NoOptions, Location at = Location::here())
      : MaxPooling2D(MaxPooling2DOptions(), at) {}

 protected:
  Tensor call(const Tensor& x) override;

 private:
  MaxPooling2DOptions options_;
};

struct AveragePooling2DOptions {
  HeightWidth pool_size = 2;
  HeightWidth strides = {};
  std::string padding = "valid";
  std::string name = "average_pooling2d";
  DTypePolicy dtype = {};
};
// The mean of the elements under each window that lie inside of the image; the rest as MaxPooling2D.
class AveragePooling2D : public Layer {
 public:
  explicit AveragePooling2D(AveragePooling2DOptions options = {}, Location at = Location::here());
  explicit AveragePooling2D(NoOptions, Location at = Location::here())
      : AveragePooling2D(AveragePooling2DOptions(), at) {}

 protected:
  Tensor call(const Tensor& x) override;

 private:
  AveragePooling2DOptions options_;
};

struct GlobalAveragePooling2DOptions {
  bool keepdims = false;  // gives f[batch, 1, 1, channels]
  std::string name = "global_average_pooling2d";
  DTypePolicy dtype = {};
};
// The mean of each channel: f[batch, channels].
class GlobalAveragePooling2D : public Layer {
 public:
  explicit GlobalAveragePooling2D(GlobalAveragePooling2DOptions options = {}, Location at = Location::here());
  explicit GlobalAveragePooling2D(NoOptions, Location at = Location::here())
      : GlobalAveragePooling2D(GlobalAveragePooling2DOptions(), at) {}

 protected:
  Tensor call(const Tensor& x) override;

 private:
  bool keepdims_;
};

}  // namespace espalier
