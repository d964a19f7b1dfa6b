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
  // For rows that are gathered together: the last axis with more than one index, and by line along it and tap
  // the offset of the line's first element.
  size_t inner = 0;
  std::vector<int64_t> line_offsets;
  // Features that lie far apart come one after the other, each with all its taps.
  bool features_outer = false;

  int64_t taps_count() const { return static_cast<int64_t>(taps.size() / row_sizes.size()); }
};

// A's rows [row, row + rows), columns [from, from + length), to `tile`.
void gather_by_row(const void* context, const float* input, int64_t row, int64_t rows, int64_t from,
                   int64_t length, float* tile) {
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

// From 1 to kMaxTileRows floats.
void copy_few(float* to, const float* from, int64_t n) {
  if (n >= 8) {
    std::memcpy(to, from, 32);
    std::memcpy(to + n - 8, from + n - 8, 32);
  } else if (n >= 4) {
    std::memcpy(to, from, 16);
    std::memcpy(to + n - 4, from + n - 4, 16);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

// The same, term by term: for rows that lie beside each other in the input along p.inner.
void gather_by_depth(const void* context, const float* input, int64_t row, int64_t rows, int64_t from,
                     int64_t length, float* tile) {
  const auto& p = *static_cast<const ConvolutionParams*>(context);
  const int64_t taps = p.taps_count();
  struct Run {
    int64_t first, count, base;
    const int64_t* offsets;
  } runs[kMaxTileRows];
  int64_t run_count = 0;
  for (int64_t i = 0; i < rows;) {
    Run& run = runs[run_count++];
    run = {i, 0, 0, nullptr};
    int64_t rest = row + i, line = 0, lines = 1;
    for (size_t axis = p.row_sizes.size(); axis-- > 0; rest /= p.row_sizes[axis]) {
      const int64_t index = rest % p.row_sizes[axis];
      if (axis == p.inner) {
        run.count = std::min(p.row_sizes[axis] - index, rows - i);
        run.base += index;
      } else if (p.spans[axis] == 1) {
        run.base += p.places[axis][static_cast<size_t>(index)];
      } else {
        line += index * lines;
        lines *= p.row_sizes[axis];
      }
    }
    run.offsets = p.line_offsets.data() + line * taps;
    i += run.count;
  }
  int64_t tap = p.features_outer ? from % taps : from / p.features;
  int64_t feature = p.features_outer ? from / taps : from % p.features;
  for (int64_t k = 0; k < length; ++k, tile += kMaxTileRows) {
    const float* source = input + feature * p.feature_stride;
    for (const Run* run = runs; run < runs + run_count; ++run) {
      const int64_t offset = run->offsets[tap];
      if (offset == kNowhere) {
        std::fill_n(tile + run->first, run->count, 0.0f);
      } else {
        copy_few(tile + run->first, source + run->base + offset, run->count);
      }
    }
    if (p.features_outer) {
      if (++tap == taps) tap = 0, ++feature;
    } else if (++feature == p.features) {
      feature = 0, ++tap;
    }
  }
}

// Offsets of every line of rows along p.inner under every tap; axes with one tap are left out. Lines are
// numbered from the last axis on. Nothing when there would be too many.
std::vector<int64_t> line_offsets(const ConvolutionParams& p) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const int64_t taps = p.taps_count();
  int64_t lines = 1;
  for (size_t axis = 0; axis < p.row_sizes.size(); ++axis) {
    if (axis != p.inner && p.spans[axis] != 1) lines *= p.row_sizes[axis];
    if (axis != p.inner && p.spans[axis] == 1 &&
        std::count(p.places[axis].begin(), p.places[axis].end(), kNowhere))
      return {};
  }
  if (lines * taps > kMost || p.places[p.inner].empty() || p.features == 0) return {};
  std::vector<int64_t> out;
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t* at = p.taps.data() + tap * static_cast<int64_t>(p.row_sizes.size());
      int64_t rest = line, offset = p.places[p.inner][static_cast<size_t>(at[p.inner])];
      for (size_t axis = p.row_sizes.size(); axis-- > 0;) {
        if (axis == p.inner || p.spans[axis] == 1) continue;
        const int64_t place =
            p.places[axis][static_cast<size_t>(rest % p.row_sizes[axis] * p.spans[axis] + at[axis])];
        offset = place == kNowhere || offset == kNowhere ? kNowhere : offset + place;
        rest /= p.row_sizes[axis];
      }
      out.push_back(offset);
    }
  }
  return out;
}

// Whether under every tap all rows along `axis` read the input element by element.
bool reads_in_order(const ConvolutionParams& p, size_t axis) {
  for (int64_t i = 0; i < p.row_sizes[axis]; ++i) {
    for (int64_t k = 0; k < p.spans[axis]; ++k) {
      const int64_t place = p.places[axis][static_cast<size_t>(i * p.spans[axis] + k)];
      if (place == kNowhere ||
          (i > 0 && place != p.places[axis][static_cast<size_t>((i - 1) * p.spans[axis] + k)] + 1))
        return false;
    }
  }
  return true;
}

void run_convolution(const KernelCall& call) {
  const auto& p = *static_cast<const ConvolutionParams*>(call.params);
  constexpr IndexMap kOne{1, 0, nullptr};
  p.gemm.run(static_cast<const float*>(call.in[0]), kOne, static_cast<const float*>(call.in[1]), kOne,
             reinterpret_cast<float*>(call.workspace), static_cast<float*>(call.out[0]), 1, call.follower);
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
  std::vector<int64_t> tap_elements;
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
    tap_elements.push_back(element);
  }
  // Features that lie apart, or are few, are gathered faster across rows.
  constexpr int64_t kFewFeatures = 8;
  p.inner = p.row_sizes.size() - 1;
  while (p.inner > 0 && p.row_sizes[p.inner] == 1) --p.inner;
  if ((p.feature_stride != 1 || p.features < kFewFeatures) && reads_in_order(p, p.inner))
    p.line_offsets = line_offsets(p);
  const bool by_depth = !p.line_offsets.empty();
  p.features_outer = by_depth && p.feature_stride != 1;
  for (int64_t k = 0; k < taps * p.features; ++k) {
    const int64_t tap = p.features_outer ? k % taps : k / p.features;
    const int64_t feature = p.features_outer ? k / taps : k % p.features;
    p.kernel_table.push_back(tap_elements[static_cast<size_t>(tap)] +
                             feature * kernel_strides[d.kernel_input_feature]);
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
  gemm.by_depth = by_depth;
  gemm.gather = by_depth ? gather_by_depth : gather_by_row;
  gemm.context = params.get();
  gemm.choose(current_isa());

  PreparedKernel prepared;
  prepared.run = run_convolution;
  prepared.takes_follower = true;
  prepared.workspace = static_cast<size_t>(gemm.workspace_floats(1)) * sizeof(float);
  prepared.params = std::move(params);
  return prepared;
}

}  // namespace espalier
