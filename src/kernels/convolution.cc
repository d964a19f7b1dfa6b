#include "ops/convolution.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/bf16_gemm.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

// Elements that are worth a helper.
constexpr int64_t kConvolutionParallelElements = int64_t{1} << 14;

// The input with its padding and the gaps of its dilation written out, so that every window lies inside.
struct Spread {
  struct Axis {
    int64_t size, out_size, low, gap, stride, out_stride;  // strides in elements
  };
  std::vector<Axis> axes;
  int64_t elements() const { return axes[0].out_size * axes[0].out_stride; }

  // Indices of `axis` in range, and what is behind it.
  template <class T>
  void copy(size_t axis, const T* from, T* to) const {
    const Axis& a = axes[axis];
    const int64_t first = a.low >= 0 ? 0 : (-a.low + a.gap - 1) / a.gap;
    const int64_t room = a.out_size - 1 - a.low, last = room < 0 ? 0 : std::min(a.size, room / a.gap + 1);
    if (first >= last) return;
    from += first * a.stride;
    to += (a.low + first * a.gap) * a.out_stride;
    if (axis + 1 == axes.size() && a.gap == 1) {
      std::memcpy(to, from, static_cast<size_t>(last - first) * sizeof(T));
      return;
    }
    for (int64_t i = first; i < last; ++i, from += a.stride, to += a.gap * a.out_stride) {
      if (axis + 1 == axes.size()) {
        *to = *from;
      } else {
        copy(axis + 1, from, to);
      }
    }
  }
  template <class T>
  void run(ThreadPool& pool, const T* from, T* to) const {
    const Axis& outer = axes[0];
    const auto slice = static_cast<size_t>(outer.out_stride) * sizeof(T);
    for_each_chunk(pool, outer.out_size, elements() >= chunk_work(kConvolutionParallelElements),
                   [&](int64_t at) {
                     std::memset(to + at * outer.out_stride, 0, slice);
                     const int64_t place = at - outer.low, i = place / outer.gap;
                     if (place < 0 || place % outer.gap || i >= outer.size) return;
                     if (axes.size() == 1) {
                       to[at] = from[i];
                     } else {
                       copy(1, from + i * outer.stride, to + at * outer.out_stride);
                     }
                   });
  }
};

// Row r of A is the window of result element r, which all its features share; a column is one feature under
// one tap of the window; B is the kernel. An element of A lies at a sum of two offsets: nothing is copied.
// Product is Gemm or Bf16Gemm.
template <class Product>
struct ConvolutionParams {
  Product product;
  std::vector<int64_t> rows, terms, kernel_terms;
  Spread spread;
  size_t spread_bytes = 0;  // 0: the input is read as it is
};

constexpr IndexMap kOne{1, 0, nullptr};

template <class T, class Product>
const T* input_of(const ConvolutionParams<Product>& p, const KernelCall& call) {
  const auto* input = static_cast<const T*>(call.in[0]);
  if (!p.spread_bytes) return input;
  auto* spread = reinterpret_cast<T*>(call.workspace);
  p.spread.run(call.pool(), input, spread);
  return spread;
}

void run_f32_convolution(const KernelCall& call) {
  const auto& p = *static_cast<const ConvolutionParams<Gemm>*>(call.params);
  p.product.run(call.pool(), input_of<float>(p, call), kOne, static_cast<const float*>(call.in[1]), kOne,
                reinterpret_cast<float*>(call.workspace + p.spread_bytes), static_cast<float*>(call.out[0]),
                1, call.epilogue);
}
void run_bf16_convolution(const KernelCall& call) {
  const auto& p = *static_cast<const ConvolutionParams<Bf16Gemm>*>(call.params);
  p.product.run(call.pool(), input_of<uint16_t>(p, call), kOne, call.in[1], kOne,
                call.workspace + p.spread_bytes, call.out[0], 1, call.epilogue);
}

// Nothing when the call is not for a product.
template <class Product>
std::shared_ptr<ConvolutionParams<Product>> read_site_convolution(const KernelSite& site) {
  const ConvolutionOptions& o = static_cast<const ConvolutionAttributes*>(site.attributes)->options;
  const ConvolutionDimensions& d = o.dimensions;
  const Shape &input = site.inputs[0]->shape, &kernel = site.inputs[1]->shape,
              &result = site.outputs[0]->shape;
  const size_t rank = result.size();
  if (o.feature_group_count != 1 || o.batch_group_count != 1 ||
      d.output_feature != static_cast<int64_t>(rank) - 1)
    return nullptr;
  const Window window = window_of(o, kernel);
  auto params = std::make_shared<ConvolutionParams<Product>>();
  ConvolutionParams<Product>& p = *params;

  Shape base = input;
  bool inside = true;                             // every window lies in the input as it is
  std::vector<size_t> axis_of_input(rank, rank);  // the window's axis, or rank
  for (size_t i = 0; i < window.rank(); ++i) {
    axis_of_input[static_cast<size_t>(d.input_spatial[i])] = i;
    inside = inside && window.base_dilation(i) == 1 && window.pad_low(i) == 0 && window.pad_high(i) == 0;
    int64_t& size = base[d.input_spatial[i]];
    size = std::max<int64_t>(
        Window::dilated(size, window.base_dilation(i)) + window.pad_low(i) + window.pad_high(i), 0);
  }
  const Dims strides = row_major_strides(base);
  if (!inside) {
    const Dims input_strides = row_major_strides(input);
    for (size_t axis = 0; axis < rank; ++axis) {
      const size_t i = axis_of_input[axis];
      p.spread.axes.push_back({input[axis], base[axis], i < rank ? window.pad_low(i) : 0,
                               i < rank ? window.base_dilation(i) : 1, input_strides[axis], strides[axis]});
    }
    // More than this is mostly padding: what reads no zeros does better.
    constexpr int64_t kMostGrowth = 16, kSmall = int64_t{1} << 16;
    const TensorType type{site.inputs[0]->dtype, base};
    if (type.elements() > kSmall &&
        type.elements() / kMostGrowth > site.inputs[0]->elements() + site.outputs[0]->elements())
      return nullptr;
    p.spread_bytes = (type.bytes() + 63) / 64 * 64;
  }

  std::vector<std::vector<int64_t>> row_lists;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    int64_t step = strides[d.input_batch];
    for (size_t i = 0; i < window.rank(); ++i) {
      if (d.output_spatial[i] == static_cast<int64_t>(axis))
        step = window.stride(i) * strides[d.input_spatial[i]];
    }
    row_lists.push_back(multiples(result[axis], step));
  }
  // Taps in the order of the window's axes, then features; features that lie far apart come first.
  std::vector<std::vector<int64_t>> tap_lists, kernel_lists;
  const Dims kernel_strides = row_major_strides(kernel);
  for (size_t i = 0; i < window.rank(); ++i) {
    tap_lists.push_back(multiples(window.sizes[i], window.window_dilation(i) * strides[d.input_spatial[i]]));
    kernel_lists.push_back(multiples(window.sizes[i], kernel_strides[d.kernel_spatial[i]]));
    if (!o.window_reversal.empty() && o.window_reversal[i])
      std::reverse(kernel_lists.back().begin(), kernel_lists.back().end());
  }
  const int64_t features = kernel[d.kernel_input_feature], feature_stride = strides[d.input_feature];
  const auto at = [&](auto& lists) { return feature_stride == 1 ? lists.end() : lists.begin(); };
  tap_lists.insert(at(tap_lists), multiples(features, feature_stride));
  kernel_lists.insert(at(kernel_lists), multiples(features, kernel_strides[d.kernel_input_feature]));
  p.rows = sums_of(row_lists);
  p.terms = sums_of(tap_lists);
  p.kernel_terms = sums_of(kernel_lists);

  Product& product = p.product;
  product.a_row = map_of(p.rows);
  product.a_depth = map_of(p.terms);
  product.b_depth = map_of(p.kernel_terms);
  product.b_column = {result[d.output_feature], kernel_strides[d.kernel_output_feature], nullptr};
  return params;
}

}  // namespace

PreparedKernel prepare_convolution(const KernelSite& site) {
  if (site.outputs[0]->dtype != DType::kF32) return {};
  auto params = read_site_convolution<Gemm>(site);
  if (!params) return {};
  params->product.choose(current_isa());
  PreparedKernel kernel;
  kernel.run = run_f32_convolution;
  kernel.takes_epilogue = true;
  kernel.workspace =
      params->spread_bytes + static_cast<size_t>(params->product.workspace_floats(1)) * sizeof(float);
  kernel.params = std::move(params);
  return kernel;
}

PreparedKernel prepare_convolution_bf16(const KernelSite& site) {
  const DType result = site.outputs[0]->dtype;
  auto params = runs_on_tiles(result) ? read_site_convolution<Bf16Gemm>(site) : nullptr;
  if (params) params->product.choose();
  if (!params || !params->product.pays()) return prepare_widened(site, prepare_convolution);
  params->product.round = result == DType::kBF16;
  PreparedKernel kernel;
  kernel.run = run_bf16_convolution;
  kernel.takes_epilogue = true;
  kernel.workspace = params->spread_bytes + params->product.workspace_bytes(1);
  kernel.params = std::move(params);
  return kernel;
}

}  // namespace espalier
