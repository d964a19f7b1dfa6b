// Windows over axes before the last: each place of the window is a row of channels. Pooling of images with
// channels last, and its gradient.
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"
#include "ops/reduce_window.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

constexpr int64_t kPoolingParallelElements = 1 << 15, kPoolingChunkElements = 1 << 13;
constexpr size_t kMaxRank = 8;
constexpr int64_t kMaxTaps = 64;

// Windows side by side on the last axis with the same places of taps, relative to the first window's.
struct Side {
  int64_t first, count, step;
  std::vector<int64_t> places;
};

// The windows of one array: rows of `channels` elements, at most `taps` of them a window.
struct Windows {
  int64_t count = 1, taps = 1, channels = 1;
  size_t axes = 0;
  int64_t sizes[kMaxRank] = {}, counts[kMaxRank] = {};
  std::vector<int64_t> places[kMaxRank];  // [window on this axis * size + element]: offset, or -1
  std::vector<Side> sides;                // of the last axis
  // A band is the windows with one place on the first axes, up to the first on which windows are more than
  // elements.
  int64_t bands = 1;
  size_t band_axis = 0;

  int64_t band_windows() const { return count / bands; }

  // Offsets of the elements of windows `line`, on all axes but the last, in row-major order: how many.
  int64_t line_offsets(int64_t line, int64_t* out) const {
    const int64_t* at[kMaxRank];
    for (size_t axis = axes - 1; axis-- > 0; line /= counts[axis])
      at[axis] = places[axis].data() + line % counts[axis] * sizes[axis];
    out[0] = 0;
    int64_t filled = 1;
    for (size_t axis = 0; axis + 1 < axes; ++axis) {
      int64_t next[kMaxTaps], size = 0;
      for (int64_t i = 0; i < filled; ++i) {
        for (int64_t k = 0; k < sizes[axis]; ++k) {
          if (at[axis][k] >= 0) next[size++] = out[i] + at[axis][k];
        }
      }
      std::copy(next, next + size, out);
      filled = size;
    }
    return filled;
  }
  // Calls body(run, window) for runs that make up windows [first, last).
  template <class Body>
  void each_run(int64_t first, int64_t last, const Body& body) const {
    const int64_t width = counts[axes - 1];
    int64_t lines[kMaxTaps], offsets[kMaxTaps];
    for (int64_t line = first / width; line * width < last; ++line) {
      const int64_t filled = line_offsets(line, lines);
      for (const Side& side : sides) {
        const int64_t from = std::max(side.first, first - line * width),
                      to = std::min(side.first + side.count, last - line * width);
        if (from >= to) continue;
        int64_t* next = offsets;
        for (int64_t i = 0; i < filled; ++i) {
          for (const int64_t place : side.places)
            *next++ = lines[i] + place + (from - side.first) * side.step;
        }
        body(WindowRun{to - from, side.step, channels, next - offsets, offsets}, line * width + from);
      }
    }
  }
  // Calls body(first, last) for pieces of the bands.
  template <class Body>
  void each(ThreadPool& pool, const Body& body) const {
    const int64_t work = band_windows() * taps * channels,
                  step = std::max<int64_t>(chunk_work(kPoolingChunkElements) / std::max<int64_t>(work, 1), 1);
    for_each_chunk(pool, (bands + step - 1) / step, bands * work >= chunk_work(kPoolingParallelElements),
                   [&](int64_t i) { body(i * step, std::min(bands, (i + 1) * step)); });
  }
};

// A place that two windows in turn have for a tap moves by stride over dilation, whatever the tap.
std::vector<Side> sides_of(const std::vector<int64_t>& places, int64_t size, int64_t count) {
  std::vector<Side> out;
  for (int64_t window = 0; window < count; ++window) {
    const int64_t* at = places.data() + window * size;
    bool goes_on = window > 0;
    for (int64_t k = 0; k < size; ++k) goes_on = goes_on && (at[k] < 0) == (at[k - size] < 0);
    if (!goes_on) out.push_back({window, 0, 0, {}});
    Side& side = out.back();
    ++side.count;
    for (int64_t k = 0; k < size; ++k) {
      if (at[k] < 0) continue;
      if (!goes_on) side.places.push_back(at[k]);
      if (goes_on) side.step = at[k] - at[k - size];
    }
  }
  return out;
}

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
  if (out.taps < 1 || out.taps > kMaxTaps || out.count == 0) return {};
  const size_t last = out.axes - 1;
  out.sides = sides_of(out.places[last], out.sizes[last], out.counts[last]);
  const auto as_elements = [&](size_t axis) {
    return window.sizes[axis] == 1 && window.stride(axis) == 1 && window.base_dilation(axis) == 1 &&
           window.pad_low(axis) == 0 && window.pad_high(axis) == 0;
  };
  while (out.band_axis < last && as_elements(out.band_axis)) out.bands *= out.counts[out.band_axis++];
  out.bands *= out.counts[out.band_axis];
  return out;
}

template <class T>
struct PoolParams {
  Windows windows;
  decltype(ElementLoops<T>::largest) reduce = nullptr;
};

template <class T>
void run_pool(const KernelCall& call) {
  const auto& p = *static_cast<const PoolParams<T>*>(call.params);
  const auto* x = static_cast<const T*>(call.in[0]);
  const float initial = number_of(*static_cast<const T*>(call.in[1]));
  auto* out = static_cast<T*>(call.out[0]);
  const Windows& w = p.windows;
  w.each(call.pool(), [&](int64_t first, int64_t last) {
    first *= w.band_windows();
    last *= w.band_windows();
    w.each_run(first, last, [&](const WindowRun& run, int64_t window) {
      p.reduce(x, run, initial, out + window * w.channels);
    });
    call.epilogue(first * w.channels, last * w.channels);
  });
}

template <class T>
struct ScatterParams {
  Windows windows;
  bool covered = true;  // every element lies in a window
  // Elements of the band axis, all of one step of it, and where the bands of one step before it begin.
  int64_t axis_elements = 0;
  std::vector<int64_t> begin;
  decltype(ElementLoops<T>::scatter_largest) scatter = nullptr;

  // The first element that belongs to band `band` or a later one.
  int64_t begin_of(int64_t band) const {
    const auto in_axis = static_cast<int64_t>(begin.size());
    return band / in_axis * axis_elements + begin[static_cast<size_t>(band % in_axis)];
  }
};

template <class T>
void run_scatter(const KernelCall& call) {
  const auto& p = *static_cast<const ScatterParams<T>*>(call.params);
  const auto *x = static_cast<const T*>(call.in[0]), *source = static_cast<const T*>(call.in[1]);
  const T initial = *static_cast<const T*>(call.in[2]);
  auto* out = static_cast<T*>(call.out[0]);
  const Windows& w = p.windows;
  w.each(call.pool(), [&](int64_t first, int64_t last) {
    const int64_t begin = p.begin_of(first), end = p.begin_of(last);
    if (!p.covered) std::fill(out + begin, out + end, initial);
    w.each_run(first * w.band_windows(), last * w.band_windows(), [&](const WindowRun& run, int64_t window) {
      p.scatter(x, source + window * w.channels, run, number_of(initial), out);
    });
    call.epilogue(begin, end);
  });
}

template <class T>
PreparedKernel prepare_pool(const KernelSite& site) {
  const auto& a = *static_cast<const ReduceWindowAttributes*>(site.attributes);
  if (site.inputs.size() != 2 || (a.reducer != Reducer::kMax && a.reducer != Reducer::kMin)) return {};
  auto windows = windows_of(a.window, site.inputs[0]->shape, site.outputs[0]->shape);
  if (!windows) return {};
  auto params = std::make_shared<PoolParams<T>>();
  params->windows = std::move(*windows);
  params->reduce = a.reducer == Reducer::kMax ? loop_table().of<T>().largest : loop_table().of<T>().least;
  return {run_pool<T>, std::move(params), 0, 0, true};
}

template <class T>
PreparedKernel prepare_scatter(const KernelSite& site) {
  const auto& a = *static_cast<const SelectAttributes*>(site.attributes);
  if (site.inputs.size() != 3 || a.select == SelectBy::kRegion || a.scatter != Reducer::kSum) return {};
  // Where windows meet, an element is chosen more than once.
  for (size_t i = 0; i < a.window.rank(); ++i) {
    if (a.window.stride(i) < a.window.sizes[i]) return {};
  }
  const Shape& base = site.inputs[0]->shape;
  auto windows = windows_of(a.window, base, site.inputs[1]->shape);
  if (!windows) return {};
  auto params = std::make_shared<ScatterParams<T>>();
  for (size_t axis = 0; axis < windows->axes; ++axis) {
    const auto& places = windows->places[axis];
    const auto inside = std::count_if(places.begin(), places.end(), [](int64_t place) { return place >= 0; });
    params->covered = params->covered && inside == base[axis];
  }
  const size_t axis = windows->band_axis;
  const int64_t size = base[axis], stride = row_major_strides(base)[axis];
  params->axis_elements = size * stride;
  for (int64_t i = 0; i < windows->counts[axis]; ++i) {
    const int64_t place = i == 0 ? 0 : i * a.window.stride(axis) - a.window.pad_low(axis);
    params->begin.push_back(std::clamp<int64_t>(place, 0, size) * stride);
  }
  params->windows = std::move(*windows);
  params->scatter =
      a.select == SelectBy::kGE ? loop_table().of<T>().scatter_largest : loop_table().of<T>().scatter_least;
  return {run_scatter<T>, std::move(params), 0, 0, true};
}

}  // namespace

PreparedKernel prepare_reduce_window(const KernelSite& site) {
  return site.dtype == DType::kF32    ? prepare_pool<float>(site)
         : site.dtype == DType::kBF16 ? prepare_pool<Bf16>(site)
                                      : prepare_pool<F16>(site);
}

PreparedKernel prepare_select_and_scatter(const KernelSite& site) {
  return site.dtype == DType::kF32    ? prepare_scatter<float>(site)
         : site.dtype == DType::kBF16 ? prepare_scatter<Bf16>(site)
                                      : prepare_scatter<F16>(site);
}

}  // namespace espalier
