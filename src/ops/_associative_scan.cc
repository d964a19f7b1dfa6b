#include "espalier/control.h"
#include "ops/call.h"

namespace espalier {
namespace {

// Elements start, start + stride, ... of `axis`, up to `limit`.
Tensors strided(const Tensors& xs, int64_t axis, int64_t start, int64_t limit, int64_t stride) {
  Tensors out;
  for (const Tensor& x : xs) {
    Dims starts = Dims::filled(x.rank(), 0), limits = x.shape(), strides = Dims::filled(x.rank(), 1);
    const auto at = static_cast<size_t>(axis);
    starts[at] = start;
    limits[at] = limit;
    strides[at] = stride;
    out.push_back(slice(x, starts, limits, strides));
  }
  return out;
}

// even[0], odd[0], even[1], odd[1], ... for as many or one more even ones.
Tensor interleave(const Tensor& even, const Tensor& odd, int64_t axis) {
  const int64_t pairs = odd.size(axis);
  Shape split = odd.shape();
  split.insert(static_cast<size_t>(axis) + 1, 1);
  Shape joined = odd.shape();
  joined[static_cast<size_t>(axis)] = 2 * pairs;
  const Tensor first = strided({even}, axis, 0, pairs, 1)[0];
  const Tensor both = reshape(concatenate({reshape(first, split), reshape(odd, split)}, axis + 1), joined);
  if (even.size(axis) == pairs) return both;
  return concatenate({both, strided({even}, axis, pairs, pairs + 1, 1)[0]}, axis);
}

Tensors combined(const TensorFunction& f, Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  Tensors out = f(a);
  for (size_t i = 0; i < b.size() || i < out.size(); ++i) {
    if (i < b.size() && i < out.size() && out[i].type() == b[i].type()) continue;
    throw ShapeError("associative_scan.types",
                     cat("the function must keep the types it combines: result ", i, " of ", b.size(), " is ",
                         i < out.size() ? to_string(out[i].type()) : "missing", ", not ",
                         i < b.size() ? to_string(b[i].type()) : "wanted"));
  }
  return out;
}

// The scan of neighbouring pairs is every second element of the scan; one more combination gives the others.
Tensors scanned(const TensorFunction& f, const Tensors& xs, int64_t axis) {
  const int64_t n = xs[0].size(axis), pairs = n / 2;
  if (n < 2) return xs;
  const Tensors odd =
      scanned(f, combined(f, strided(xs, axis, 0, 2 * pairs, 2), strided(xs, axis, 1, 2 * pairs, 2)), axis);
  const Tensors first = strided(xs, axis, 0, 1, 1);
  Tensors rest;
  if (n > 2) rest = combined(f, strided(odd, axis, 0, (n - 1) / 2, 1), strided(xs, axis, 2, n, 2));
  Tensors out;
  for (size_t i = 0; i < xs.size(); ++i)
    out.push_back(interleave(n > 2 ? concatenate({first[i], rest[i]}, axis) : first[i], odd[i], axis));
  return out;
}

}  // namespace

Tensors associative_scan(const TensorFunction& f, const Tensors& xs, int64_t axis, Location at) {
  CallScope scope(at);
  if (xs.empty()) return {};
  const int64_t along = normalize_axis("associative_scan", axis, xs[0].rank());
  for (const Tensor& x : xs) {
    if (static_cast<int64_t>(x.rank()) <= along || x.size(along) != xs[0].size(along)) {
      throw ShapeError("associative_scan.length", cat("tensors must be equally long along axis ", along, ": ",
                                                      xs[0].type(), " and ", x.type()));
    }
  }
  return scanned(f, xs, along);
}

}  // namespace espalier
