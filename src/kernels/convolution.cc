#include "ops/convolution.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

constexpr int64_t kParallelWork = int64_t{1} << 20, kChunkWork = int64_t{1} << 18;
constexpr int64_t kMaxTileRows = 16;
// A multiple of 4096 bytes from row to row would put a tile's rows into few sets of the cache.
constexpr int64_t kTileStride = kDepthBlock + 16;
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
  int64_t features = 1, feature_stride = 1, chunk_rows = 1;
};

// A's rows [row, row + rows), columns [from, from + length), to `tile`.
void gather(const ConvolutionParams& p, const float* input, int64_t row, int64_t rows, int64_t from,
            int64_t length, float* tile) {
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
      float* to = tile + i * kTileStride + k;
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

void multiply_rows(const ConvolutionParams& p, const float* input, const float* kernel, const float* packed,
                   float* out, int64_t first, int64_t last) {
  alignas(64) float tile[kMaxTileRows * kTileStride];
  const Gemm& gemm = p.gemm;
  const int64_t width = gemm.tiles->columns, height = gemm.tiles->rows;
  for (int64_t row = first; row < last; row += height) {
    TileProduct product;
    product.rows = std::min(height, last - row);
    product.a = tile;
    product.a_row = kTileStride;
    product.a_depth = 1;
    product.c_row = gemm.columns();
    for (int64_t from = 0; from == 0 || from < gemm.depth(); from += kDepthBlock) {
      product.depth = std::min(kDepthBlock, gemm.depth() - from);
      product.accumulate = from > 0;
      gather(p, input, row, product.rows, from, product.depth, tile);
      for (int64_t panel = 0; panel < gemm.panels(); ++panel) {
        const int64_t column = panel * width;
        product.columns = std::min(width, gemm.columns() - column);
        product.b = gemm.pack_b ? packed + panel * width * gemm.depth() + from * width
                                : kernel + gemm.b_depth[from] + column;
        product.b_row = gemm.pack_b ? width : gemm.b_depth.stride;
        product.c = out + row * gemm.columns() + column;
        gemm.tiles->multiply(product);
      }
    }
  }
}

void run_convolution(const KernelCall& call) {
  const auto& p = *static_cast<const ConvolutionParams*>(call.params);
  const Gemm& gemm = p.gemm;
  const auto *input = static_cast<const float*>(call.in[0]), *kernel = static_cast<const float*>(call.in[1]);
  auto* out = static_cast<float*>(call.out[0]);
  auto* packed = reinterpret_cast<float*>(call.workspace);
  const auto for_each = [&](int64_t chunks, auto body) {
    if (gemm.rows() * gemm.columns() * gemm.depth() >= chunk_work(kParallelWork))
      return thread_pool().parallel_for(chunks, body);
    for (int64_t i = 0; i < chunks; ++i) body(i);
  };
  if (gemm.pack_b)
    for_each(gemm.panels(), [&](int64_t panel) { gemm.pack(kernel, packed, panel, panel + 1); });
  for_each((gemm.rows() + p.chunk_rows - 1) / p.chunk_rows, [&](int64_t i) {
    multiply_rows(p, input, kernel, packed, out, i * p.chunk_rows,
                  std::min((i + 1) * p.chunk_rows, gemm.rows()));
  });
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
  gemm.choose(gemm_tiles(current_isa()));
  const int64_t tile_work = std::max<int64_t>(gemm.tiles->rows * gemm.columns() * depth, 1);
  p.chunk_rows = gemm.tiles->rows * std::max<int64_t>(chunk_work(kChunkWork) / tile_work, 1);

  PreparedKernel prepared;
  prepared.run = run_convolution;
  prepared.workspace = static_cast<size_t>(gemm.packed_floats()) * sizeof(float);
  prepared.params = std::move(params);
  return prepared;
}

}  // namespace espalier
