// Windows over axes before the last: each place of the window is a row of channels. Pooling of images with
// channels last, and its gradient.
#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"
#include "ops/reduce_window.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

constexpr int64_t kParallelElements = 1 << 15, kChunkElements = 1 << 13;
constexpr size_t kMaxRank = 8;
constexpr int64_t kMaxTaps = 64, kChannels = 256;

// The windows of one array: rows of `channels` elements, `taps` of them a window.
struct Windows {
  int64_t count = 1, taps = 1, channels = 1;
  size_t axes = 0;
  int64_t sizes[kMaxRank] = {}, counts[kMaxRank] = {};
  std::vector<int64_t> places[kMaxRank];  // [window on this axis * size + element]: offset, or -1

  // The offsets of the window's elements in row-major order, -1 for padding.
  void offsets(int64_t window, int64_t* out) const {
    const int64_t* at[kMaxRank];
    for (size_t axis = axes; axis-- > 0; window /= counts[axis])
      at[axis] = places[axis].data() + window % counts[axis] * sizes[axis];
    out[0] = 0;
    int64_t filled = 1;
    for (size_t axis = 0; axis < axes; ++axis) {
      // From the back, so that what is read is not yet overwritten.
      for (int64_t i = filled; i-- > 0;) {
        const int64_t base = out[i];
        for (int64_t k = sizes[axis]; k-- > 0;) {
          const int64_t place = at[axis][k];
          out[i * sizes[axis] + k] = base < 0 || place < 0 ? -1 : base + place;
        }
      }
      filled *= sizes[axis];
    }
  }
  int64_t chunk() const {
    return std::max<int64_t>(chunk_work(kChunkElements) / std::max<int64_t>(taps * channels, 1), 1);
  }
  // Calls body(first, last) for pieces of the windows.
  template <class Body>
  void each(const Body& body) const {
    const int64_t step = chunk(), chunks = (count + step - 1) / step;
    for_each_chunk(chunks, count * taps * channels >= chunk_work(kParallelElements),
                   [&](int64_t i) { body(i * step, std::min(count, (i + 1) * step)); });
  }
};

// Nothing when the window is wider than one element on the last axis.
std::optional<Windows> windows_of(const Window& window, const Shape& base, const Shape& result) {
  const size_t rank = base.size();
  if (rank < 2 || rank > kMaxRank || window.sizes.back() != 1 || result.back() != base.back() ||
      window.base_dilation(rank - 1) != 1 || window.pad_low(rank - 1) != 0 ||
      (window.stride(rank - 1) != 1 && base.back() != 1) || window.pad_high(rank - 1) != 0)
    return {};
  Windows out;
  out.channels = base.back();
  out.axes = rank - 1;
  const Dims strides = row_major_strides(base);
  for (size_t axis = 0; axis < out.axes; ++axis) {
    out.sizes[axis] = window.sizes[axis];
    out.counts[axis] = result[axis];
    out.count *= result[axis];
    out.taps *= window.sizes[axis];
    for (const int64_t place : window.positions(axis, base[axis]))
      out.places[axis].push_back(place < 0 ? -1 : place * strides[axis]);
  }
  if (out.taps < 1 || out.taps > kMaxTaps) return {};
  return out;
}

struct PoolParams {
  Windows windows;
  void (*fold)(const float* x, float* out, int64_t n) = nullptr;
};

void run_pool(const KernelCall& call) {
  const auto& p = *static_cast<const PoolParams*>(call.params);
  const auto* x = static_cast<const float*>(call.in[0]);
  const float initial = *static_cast<const float*>(call.in[1]);
  auto* out = static_cast<float*>(call.out[0]);
  const Windows& w = p.windows;
  w.each([&](int64_t first, int64_t last) {
    int64_t offsets[kMaxTaps];
    for (int64_t window = first; window < last; ++window) {
      float* row = out + window * w.channels;
      std::fill(row, row + w.channels, initial);
      w.offsets(window, offsets);
      for (int64_t tap = 0; tap < w.taps; ++tap) {
        if (offsets[tap] >= 0) p.fold(x + offsets[tap], row, w.channels);
      }
    }
  });
}

struct ScatterParams {
  Windows windows;
  int64_t elements = 0;
  bool largest = true;
  bool covered = true;  // every element lies in a window
};

void run_scatter(const KernelCall& call) {
  const auto& p = *static_cast<const ScatterParams*>(call.params);
  const auto *x = static_cast<const float*>(call.in[0]), *source = static_cast<const float*>(call.in[1]);
  const float initial = *static_cast<const float*>(call.in[2]);
  auto* out = static_cast<float*>(call.out[0]);
  const Windows& w = p.windows;
  const auto choose = p.largest ? loop_table().choose_largest : loop_table().choose_least;
  const auto give = loop_table().give_chosen;
  if (!p.covered) std::fill(out, out + p.elements, initial);
  w.each([&](int64_t first, int64_t last) {
    int64_t offsets[kMaxTaps];
    float best[kChannels];
    int32_t chosen[kChannels];
    for (int64_t window = first; window < last; ++window) {
      w.offsets(window, offsets);
      for (int64_t from = 0; from < w.channels; from += kChannels) {
        const int64_t n = std::min(kChannels, w.channels - from);
        std::fill(chosen, chosen + n, -1);
        std::fill(best, best + n, 0.0f);
        for (int64_t tap = 0; tap < w.taps; ++tap) {
          if (offsets[tap] >= 0) choose(x + offsets[tap] + from, static_cast<int32_t>(tap), best, chosen, n);
        }
        const float* given = source + window * w.channels + from;
        for (int64_t tap = 0; tap < w.taps; ++tap) {
          if (offsets[tap] >= 0)
            give(given, chosen, static_cast<int32_t>(tap), initial, out + offsets[tap] + from, n);
        }
      }
    }
  });
}

}  // namespace

PreparedKernel prepare_reduce_window(const KernelSite& site) {
  const auto& a = *static_cast<const ReduceWindowAttributes*>(site.attributes);
  if (site.inputs.size() != 2 || (a.reducer != Reducer::kMax && a.reducer != Reducer::kMin)) return {};
  auto windows = windows_of(a.window, site.inputs[0]->shape, site.outputs[0]->shape);
  if (!windows) return {};
  auto params = std::make_shared<PoolParams>();
  params->windows = std::move(*windows);
  params->fold = a.reducer == Reducer::kMax ? loop_table().fold_larger : loop_table().fold_smaller;
  return {run_pool, std::move(params), 0, 0};
}

PreparedKernel prepare_select_and_scatter(const KernelSite& site) {
  const auto& a = *static_cast<const SelectAttributes*>(site.attributes);
  if (site.inputs.size() != 3 || a.select == SelectBy::kRegion || a.scatter != Reducer::kSum) return {};
  // Where windows meet, an element is chosen more than once.
  for (size_t i = 0; i < a.window.rank(); ++i) {
    if (a.window.stride(i) < a.window.sizes[i]) return {};
  }
  auto windows = windows_of(a.window, site.inputs[0]->shape, site.inputs[1]->shape);
  if (!windows) return {};
  auto params = std::make_shared<ScatterParams>();
  for (size_t axis = 0; axis < windows->axes; ++axis) {
    const auto& places = windows->places[axis];
    const auto inside = std::count_if(places.begin(), places.end(), [](int64_t place) { return place >= 0; });
    params->covered = params->covered && inside == site.inputs[0]->shape[axis];
  }
  params->windows = std::move(*windows);
  params->elements = site.inputs[0]->elements();
  params->largest = a.select == SelectBy::kGE;
  return {run_scatter, std::move(params), 0, 0};
}

}  // namespace espalier
