#include <algorithm>

#include "format/onnx/importer.h"
#include "ops/call.h"

namespace espalier::onnx {
namespace {

// NumPy's matmul.
Tensor matmul(Tensor a, Tensor b) {
  if (a.rank() == 0 || b.rank() == 0) bad_node(cat("takes no scalars: ", a.type(), " and ", b.type()));
  const auto last = [](const Tensor& x) { return static_cast<int64_t>(x.rank()) - 1; };
  if (b.rank() == 1) return dot_general(a, b, {.lhs_contracting = {last(a)}, .rhs_contracting = {0}});
  if (b.rank() == 2) return dot_general(a, b, {.lhs_contracting = {last(a)}, .rhs_contracting = {0}});
  const bool is_vector = a.rank() == 1;
  if (is_vector) a = reshape(a, {1, a.size(0)});
  const auto stack_of = [](const Tensor& x) { return Shape(x.shape().span().first(x.rank() - 2)); };
  const Shape stack = broadcast_shapes("matmul", stack_of(a), stack_of(b));
  const auto stacked = [&](const Tensor& x) {
    Shape shape = stack;
    shape.push_back(x.shape()[x.rank() - 2]);
    shape.push_back(x.shape()[x.rank() - 1]);
    return broadcast_like(x, shape);
  };
  const Dims axes = Dims::range(stack.size());
  const auto rank = static_cast<int64_t>(stack.size());
  const Tensor product = dot_general(
      stacked(a), stacked(b),
      {.lhs_batching = axes, .rhs_batching = axes, .lhs_contracting = {rank + 1}, .rhs_contracting = {rank}});
  if (!is_vector) return product;
  Shape shape = product.shape();
  shape.erase(shape.size() - 2);
  return reshape(product, shape);
}

Tensor gemm(const Operator& o) {
  const Tensor &a = o.in(0), &b = o.in(1);
  if (a.rank() != 2 || b.rank() != 2) bad_node(cat("takes matrices, got ", a.type(), " and ", b.type()));
  const int64_t trans_a = o.integer("transA", 0) != 0, trans_b = o.integer("transB", 0) != 0;
  Tensor out = dot_general(a, b, {.lhs_contracting = {1 - trans_a}, .rhs_contracting = {trans_b}});
  // dot_general's free axes stand in the order of a gemm.
  if (const double alpha = o.real("alpha", 1); alpha != 1) out = out * alpha;
  if (!o.has(2)) return out;
  const double beta = o.real("beta", 1);
  return out + (beta == 1 ? o.in(2) : o.in(2) * beta);
}

// Two operands, no letter twice in one of them, no letter summed that stands in one of them alone.
Tensor einsum(const Operator& o) {
  std::string text;
  for (const char c : o.word("equation", "")) {
    if (c != ' ') text += c;
  }
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    unread_node(cat("the equation \"", text, "\": read are those of two operands and a result"));
  const std::string left = text.substr(0, comma), right = text.substr(comma + 1, arrow - comma - 1),
                    result = text.substr(arrow + 2);
  const auto is_plain = [](const std::string& letters) {
    std::string sorted = letters;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
           std::all_of(sorted.begin(), sorted.end(),
                       [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
  };
  const Tensor &a = o.in(0), &b = o.in(1);
  if (!is_plain(left) || !is_plain(right) || !is_plain(result) || left.size() != a.rank() ||
      right.size() != b.rank())
    unread_node(cat("the equation \"", text, "\" for ", a.type(), " and ", b.type()));
  const auto in = [](const std::string& letters, char c) { return letters.find(c) != std::string::npos; };
  DotAxes axes;
  std::string order, free;
  for (size_t i = 0; i < left.size(); ++i) {
    const bool shared = in(right, left[i]), kept = in(result, left[i]);
    if (!shared && !kept) unread_node(cat("the equation \"", text, "\" sums an axis of one operand"));
    if (!shared) {
      free += left[i];
      continue;
    }
    const auto other = static_cast<int64_t>(right.find(left[i]));
    (kept ? axes.lhs_batching : axes.lhs_contracting).push_back(static_cast<int64_t>(i));
    (kept ? axes.rhs_batching : axes.rhs_contracting).push_back(other);
    if (kept) order += left[i];
  }
  order += free;
  for (const char c : right) {
    if (in(left, c)) continue;
    if (!in(result, c)) unread_node(cat("the equation \"", text, "\" sums an axis of one operand"));
    order += c;
  }
  if (order.size() != result.size())
    bad_node(cat("the equation \"", text, "\" has a result of other letters"));
  Dims permutation;
  for (const char c : result) permutation.push_back(static_cast<int64_t>(order.find(c)));
  return transpose(dot_general(a, b, axes), permutation);
}

// The window of a convolution or a pool over the spatial axes of x.
struct Frame {
  Dims size, strides, dilations, low, high;

  Frame(const Operator& o, const Tensor& x, const Dims& default_size) {
    const size_t rank = x.rank() < 2 ? 0 : x.rank() - 2;
    if (rank < 1) bad_node(cat("needs [batch, channels, ...], got ", x.type()));
    const auto read = [&](const char* name, const Dims& fallback) {
      const auto list = o.list(name);
      const Dims out = list ? Dims(*list) : fallback;
      for (const int64_t value : out) {
        if (value < 1 || value > int64_t{1} << 30) bad_node(cat(name, " is ", out));
      }
      if (out.size() != rank) bad_node(cat(name, " needs ", rank, " numbers, is ", out));
      return out;
    };
    size = read("kernel_shape", default_size);
    strides = read("strides", Dims::filled(rank, 1));
    dilations = read("dilations", Dims::filled(rank, 1));
    low = high = Dims::filled(rank, 0);
    pad(o, x, rank);
  }

 private:
  void pad(const Operator& o, const Tensor& x, size_t rank) {
    const std::string automatic = o.word("auto_pad", "NOTSET");
    if (automatic == "NOTSET") {
      const auto pads = o.list("pads").value_or(std::vector<int64_t>(2 * rank));
      if (pads.size() != 2 * rank) bad_node(cat("pads needs ", 2 * rank, " numbers, has ", pads.size()));
      for (size_t i = 0; i < pads.size(); ++i) {
        if (pads[i] < 0 || pads[i] > int64_t{1} << 30) bad_node(cat("a padding of ", pads[i]));
        (i < rank ? low : high)[i % rank] = pads[i];
      }
    } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      for (size_t i = 0; i < rank; ++i) {
        const int64_t places = (x.shape()[i + 2] + strides[i] - 1) / strides[i];
        const int64_t span = (size[i] - 1) * dilations[i] + 1;
        const int64_t total = std::max<int64_t>(0, (places - 1) * strides[i] + span - x.shape()[i + 2]);
        (automatic == "SAME_UPPER" ? low : high)[i] = total / 2;
        (automatic == "SAME_UPPER" ? high : low)[i] = total - total / 2;
      }
    } else if (automatic != "VALID") {
      bad_node(cat("auto_pad is \"", automatic, "\""));
    }
  }
};

// x f[B, C, ...] and one number a channel.
Tensor along_channels(const Tensor& channels, const Shape& shape) {
  return broadcast_in_dim(channels, shape, {1});
}

Tensor conv(const Operator& o) {
  const Tensor &x = o.in(0), &kernel = o.in(1);
  if (kernel.rank() != x.rank() || x.rank() < 3)
    bad_node(cat("x and w need one rank of 3 or more: ", x.type(), " and ", kernel.type()));
  const Dims spatial(kernel.shape().span().subspan(2));
  const Frame frame(o, x, spatial);
  if (frame.size != spatial) bad_node(cat("kernel_shape is ", frame.size, ", w is ", kernel.type()));
  const Tensor y = convolution(x, kernel,
                               {.window_strides = frame.strides,
                                .padding_low = frame.low,
                                .padding_high = frame.high,
                                .rhs_dilation = frame.dilations,
                                .dimensions = channels_first(x.rank() - 2),
                                .feature_group_count = o.integer("group", 1)});
  return o.has(2) ? y + along_channels(o.in(2), y.shape()) : y;
}

PoolOptions pool_options(const Operator& o) {
  const Frame frame(o, o.in(0), {});
  const Tensor& x = o.in(0);
  PoolOptions out{{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (size_t i = 0; i < frame.size.size(); ++i) {
    if (frame.dilations[i] != 1) unread_node("a dilated pool");
    const int64_t rest = (x.shape()[i + 2] + frame.low[i] + frame.high[i] - frame.size[i]) % frame.strides[i];
    if (o.integer("ceil_mode", 0) != 0 && rest != 0)
      unread_node("a pool whose last window is cut off (ceil_mode)");
    out.window.push_back(frame.size[i]);
    out.strides.push_back(frame.strides[i]);
    out.padding_low.push_back(frame.low[i]);
    out.padding_high.push_back(frame.high[i]);
  }
  return out;
}

Tensor average(const Operator& o) {
  const PoolOptions options = pool_options(o);
  if (o.integer("count_include_pad", 0) == 0) return average_pool(o.in(0), options);
  double count = 1;
  for (const int64_t size : options.window) count *= static_cast<double>(size);
  return sum_pool(o.in(0), options) / count;
}

Dims spatial_axes(const Tensor& x) {
  if (x.rank() < 3) bad_node(cat("needs [batch, channels, ...], got ", x.type()));
  Dims axes;
  for (size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

Tensor with_ones(const Tensor& reduced, const Tensor& x) {
  Shape shape = Dims::filled(x.rank(), 1);
  shape[0] = x.shape()[0];
  shape[1] = x.shape()[1];
  return reshape(reduced, shape);
}

Tensor global_average(const Tensor& x) {
  const Dims axes = spatial_axes(x);
  const double count = static_cast<double>(num_elements(Shape(x.shape().span().subspan(2))));
  return with_ones(reduce_sum(x, axes) / count, x);
}

Tensor batch_normalization(const Operator& o) {
  if (o.integer("training_mode", 0) != 0) unread_node("batch normalisation in training");
  if (o.in(0).rank() < 2) bad_node(cat("needs [batch, channels, ...], got ", o.in(0).type()));
  for (size_t i = 1; i < 5; ++i) {
    if (o.in(i).shape() != Shape{o.in(0).shape()[1]})
      bad_node(cat("input ", i, " is ", o.in(i).type(), ", the channels are ", o.in(0).shape()[1]));
  }
  return batch_normalization_inference(o.in(0), o.in(1), o.in(2), o.in(3), o.in(4),
                                       {.axis = 1, .epsilon = o.real("epsilon", 1e-5f)});
}

Tensor layer_normalization(const Operator& o) {
  const Tensor& x = o.in(0);
  const int64_t axis = axis_of(o.integer("axis", -1), x.rank());
  const Shape shape(x.shape().span().subspan(static_cast<size_t>(axis)));
  const Tensor offset = o.has(2) ? o.in(2) : constant_like(o.in(1).type(), 0);
  return espalier::layer_normalization(x, broadcast_like(o.in(1), shape), broadcast_like(offset, shape),
                                       o.real("epsilon", 1e-5f));
}

const ImportRule kProductRules[] = {
    {"MatMul", [](const Operator& o) -> Results { return {matmul(o.in(0), o.in(1))}; }},
    {"Gemm", [](const Operator& o) -> Results { return {gemm(o)}; }},
    {"Einsum", [](const Operator& o) -> Results { return {einsum(o)}; }},
    {"Conv", [](const Operator& o) -> Results { return {conv(o)}; }},
    {"MaxPool", [](const Operator& o) -> Results { return {max_pool(o.in(0), pool_options(o))}; }},
    {"AveragePool", [](const Operator& o) -> Results { return {average(o)}; }},
    {"GlobalAveragePool", [](const Operator& o) -> Results { return {global_average(o.in(0))}; }},
    {"GlobalMaxPool",
     [](const Operator& o) -> Results {
       return {with_ones(reduce_max(o.in(0), spatial_axes(o.in(0))), o.in(0))};
     }},
    {"BatchNormalization", [](const Operator& o) -> Results { return {batch_normalization(o)}; }},
    {"LayerNormalization", [](const Operator& o) -> Results { return {layer_normalization(o)}; }},
};

}  // namespace

std::span<const ImportRule> product_imports() { return kProductRules; }

}  // namespace espalier::onnx
