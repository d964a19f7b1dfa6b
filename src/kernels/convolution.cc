#include "ops/convolution.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();

// im2col a tile at a time: row r of A is the window of result element r (all its features share it), column
// t * features + f is feature f under tap t of the window; B is the kernel.
struct ConvolutionParams {
  Gemm gemm;
  std::vector<int64_t> kernel_table;  // gemm.b_depth
  // Result axes but the features, in memory order.
  std::vector<int64_t> row_sizes;
  // Per such axis and index on it, and per tap, the offset into the input: places[axis][index * span + tap
  // index on that axis]; kNowhere outside. The batch axis has span 1.
  std::vector<std::vector<int64_t>> places;
  std::vector<int64_t> spans;
  // taps[t * axes + axis]: the tap's index on each axis of row_sizes.
  std::vector<int64_t> taps;
  int64_t features = 1, feature_stride = 1;
};

// A's rows [row, row + rows), columns [from, from + length), to `tile`.
void gather(const void* context, const float* input, int64_t row, int64_t rows, int64_t from, int64_t length,
            float* tile) {
  const auto& p = *static_cast<const ConvolutionParams*>(context);
  const size_t axes = p.row_sizes.size();
  const int64_t* places[kMaxTileRows][8];
  for (int64_t i = 0; i < rows; ++i) {
    int64_t rest = row + i;
    for (size_t axis = axes; axis-- > 0; rest /= p.row_sizes[axis])
      places[i][axis] = p.places[axis].data() + rest % p.row_sizes[axis] * p.spans[axis];
  }
  for (int64_t k = 0; k < length;) {
    const int64_t tap = (from + k) / p.features, feature = (from + k) % p.features;
    const int64_t count = std::min(p.features - feature, length - k);
    const int64_t* at = p.taps.data() + tap * static_cast<int64_t>(axes);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t offset = feature * p.feature_stride;
      bool inside = true;
      for (size_t axis = 0; axis < axes; ++axis) {
        const int64_t place = places[i][axis][at[axis]];
        inside &= place != kNowhere;
        offset += inside ? place : 0;
      }
      float* to = tile + i * kTilePitch + k;
      if (!inside) {
        std::fill(to, to + count, 0.0f);
      } else if (p.feature_stride == 1) {
        std::memcpy(to, input + offset, static_cast<size_t>(count) * sizeof(float));
      } else {
        for (int64_t f = 0; f < count; ++f) to[f] = input[offset + f * p.feature_stride];
      }
    }
    k += count;
  }
}

void run_convolution(const KernelCall& call) {
  const auto& p = *static_cast<const ConvolutionParams*>(call.params);
  constexpr IndexMap kOne{1, 0, nullptr};
  p.gemm.run(static_cast<const float*>(call.in[0]), kOne, static_cast<const float*>(call.in[1]), kOne,
             reinterpret_cast<float*>(call.workspace), static_cast<float*>(call.out[0]), 1);
}

}  // namespace

PreparedKernel prepare_convolution(const KernelSite& site) {
  const ConvolutionOptions& o = static_cast<const ConvolutionAttributes*>(site.attributes)->options;
  const ConvolutionDimensions& d = o.dimensions;
  const Shape &input = site.inputs[0]->shape, &kernel = site.inputs[1]->shape,
              &result = site.outputs[0]->shape;
  const size_t rank = result.size();
  if (site.outputs[0]->dtype != DType::kF32 || o.feature_group_count != 1 || o.batch_group_count != 1 ||
      d.output_feature != static_cast<int64_t>(rank) - 1 || rank > 8)
    return {};
  const Dims input_strides = row_major_strides(input), kernel_strides = row_major_strides(kernel);
  const Window window = window_of(o, kernel);
  auto params = std::make_shared<ConvolutionParams>();
  ConvolutionParams& p = *params;
  p.features = kernel[d.kernel_input_feature];
  p.feature_stride = input_strides[d.input_feature];

  std::vector<size_t> spatial_of(rank, rank);  // the window axis of a result axis; `rank`: the batch
  for (size_t i = 0; i < d.output_spatial.size(); ++i) spatial_of[d.output_spatial[i]] = i;
  int64_t rows = 1, taps = 1;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    const size_t i = spatial_of[axis];
    const bool batch = i == rank;
    p.row_sizes.push_back(result[axis]);
    p.spans.push_back(batch ? 1 : window.sizes[i]);
    rows *= result[axis];
    taps *= p.spans.back();
    std::vector<int64_t>& places = p.places.emplace_back();
    for (int64_t index = 0; index < result[axis]; ++index) {
      for (int64_t k = 0; k < p.spans.back(); ++k) {
        const int64_t axis_of = batch ? d.input_batch : d.input_spatial[i];
        const int64_t place = batch ? index : window.position(i, input[axis_of], index, k);
        places.push_back(place < 0 ? kNowhere : place * input_strides[axis_of]);
      }
    }
  }
  // Taps in the order of the window's axes, as the kernel is usually stored.
  std::vector<size_t> row_axis(window.rank());
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    if (spatial_of[axis] != rank) row_axis[spatial_of[axis]] = axis;
  }
  for (int64_t t = 0; t < taps; ++t) {
    std::vector<int64_t> at(p.row_sizes.size(), 0);
    int64_t rest = t, element = 0;
    for (size_t i = window.rank(); i-- > 0; rest /= window.sizes[i]) {
      const int64_t k = rest % window.sizes[i];
      const bool reversed = !o.window_reversal.empty() && o.window_reversal[i];
      at[row_axis[i]] = k;
      element += (reversed ? window.sizes[i] - 1 - k : k) * kernel_strides[d.kernel_spatial[i]];
    }
    p.taps.insert(p.taps.end(), at.begin(), at.end());
    for (int64_t f = 0; f < p.features; ++f)
      p.kernel_table.push_back(element + f * kernel_strides[d.kernel_input_feature]);
  }

  Gemm& gemm = p.gemm;
  const int64_t depth = taps * p.features;
  gemm.a_row.count = rows;
  gemm.a_depth.count = gemm.b_depth.count = depth;
  gemm.b_depth.stride = depth > 1 ? p.kernel_table[1] : 0;
  for (int64_t k = 0; k < depth; ++k) {
    if (p.kernel_table[static_cast<size_t>(k)] != k * gemm.b_depth.stride)
      gemm.b_depth.table = p.kernel_table.data();
  }
  gemm.b_column = {result[d.output_feature], kernel_strides[d.kernel_output_feature], nullptr};
  gemm.gather = gather;
  gemm.context = params.get();
  gemm.choose(current_isa());

  PreparedKernel prepared;
  prepared.run = run_convolution;
  prepared.workspace = static_cast<size_t>(gemm.workspace_floats(1)) * sizeof(float);
  prepared.params = std::move(params);
  return prepared;
}

}  // namespace espalier
