// Choosing one element of each window and scattering to it: the gradient of a maximum over windows.
#pragma once

#include "ops/reducer.h"
#include "ops/window.h"

namespace espalier {

// The chosen element stays while `chosen (word) candidate` holds. kRegion: a region says so.
enum class SelectBy : uint8_t { kGE, kLE, kRegion };
inline constexpr const char* kSelectWords[] = {"GE", "LE", "region"};

struct SelectAttributes final : Attributes {
  SelectBy select = SelectBy::kGE;
  Reducer scatter = Reducer::kSum;
  Window window;
  void fields(FieldVisitor& v) override {
    v.word("select", select, kSelectWords);
    v.word("scatter", scatter, kReducerWords);
    v.field("window_dimensions", window.sizes);
    v.field("window_strides", window.strides);
    visit_padding(v, window.low, window.high);
  }
};

// For each window of an array of `base` the offset of the chosen element, -1 when it holds padding alone.
// stays(a, b): whether the element at offset a stays chosen against the later one at b.
template <class Stays>
std::vector<int64_t> choose(const Window& window, const Shape& base, Stays stays) {
  const size_t rank = base.size();
  const Shape counts = window_counts(window, base);
  const Dims strides = row_major_strides(base);
  Dims at = Dims::filled(rank, 0);
  std::vector<int64_t> out(static_cast<size_t>(num_elements(counts)), -1);
  for (int64_t& chosen : out) {
    for (int64_t k = 0, size = num_elements(window.sizes); k < size; ++k) {
      int64_t offset = 0, rest = k;
      for (size_t i = rank; i-- > 0 && offset >= 0; rest /= window.sizes[i]) {
        const int64_t place = window.position(i, base[i], at[i], rest % window.sizes[i]);
        offset = place < 0 ? -1 : offset + place * strides[i];
      }
      if (offset >= 0 && (chosen < 0 || !stays(chosen, offset))) chosen = offset;
    }
    for (size_t i = rank; i-- > 0;) {
      if (++at[i] < counts[i]) break;
      at[i] = 0;
    }
  }
  return out;
}
// The same by a named comparison of the elements of `array`. REQUIRES: not kRegion.
std::vector<int64_t> choose(const Window& window, const ArrayView& array, SelectBy select);

// Sums `source` into `initial` at the element that each window of `x` chooses.
Tensor select_and_scatter(const Tensor& x, const Tensor& source, const Tensor& initial, const Window& window,
                          SelectBy select);
// The elements of `values` where each window of `x` chooses; zero for a window that holds padding alone.
Tensor select_and_gather(const Tensor& values, const Tensor& x, const Window& window, SelectBy select);

}  // namespace espalier
