#include <limits>
#include <numeric>

#include "format/onnx/exporter.h"
#include "ir/constant.h"
#include "ir/dispatch.h"

namespace espalier::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max(), kBefore = std::numeric_limits<int64_t>::min();

Dims dims(const espalier::Node& node, const char* name) { return read_dims(node.attributes.get(), name); }

void write_constant(Exporter& e, const espalier::Node& node) {
  const Literal& value = static_cast<const ConstantAttributes&>(*node.attributes).value;
  if (!value.is_splat()) return e.set(node.first_result, e.constant(value));
  const std::string element = e.constant(Literal::copy({value.type().dtype, {}}, value.raw()));
  e.set(node.first_result, e.spread(element, {}, {}, value.type().rank()));
}

void write_iota(Exporter& e, const espalier::Node& node) {
  const int64_t axis = read_integer(node.attributes.get(), "iota_dimension");
  const TensorType& type = e.type(node.first_result);
  const Size size = e.size(node.first_result, static_cast<size_t>(axis));
  std::string line;
  if (size.fixed()) {
    std::vector<int64_t> numbers(static_cast<size_t>(size.here));
    std::iota(numbers.begin(), numbers.end(), 0);
    line = e.constant(numbers);
  } else {
    const std::string end = e.emit("Squeeze", {e.shape_tensor({size})});
    line = e.emit("Range", {e.scalar(DType::kI64, 0), end, e.scalar(DType::kI64, 1)});
  }
  e.set(node.first_result, e.spread(e.cast(line, DType::kI64, type.dtype), {axis}, {false}, type.rank()));
}

void write_broadcast_in_dim(Exporter& e, const espalier::Node& node) {
  const ValueId x = e.graph().inputs(node)[0], y = node.first_result;
  const Dims to = dims(node, "broadcast_dimensions");
  const Stored& in = e.stored(x);
  const size_t rank = e.type(y).rank();
  if (in.is_scalar()) return e.set(y, e.spread(in.name, {}, {}, rank));
  // The axes of x in the order in which they stand in the result.
  Dims axes = Dims::range(to.size()), places = to, lazy = Dims::range(to.size());
  std::sort(axes.begin(), axes.end(), [&](int64_t a, int64_t b) { return to[a] < to[b]; });
  std::sort(places.begin(), places.end());
  std::vector<bool> repeated;
  for (const int64_t axis : axes) {
    const bool grows = e.size(x, static_cast<size_t>(axis)) == Size{1, 1} &&
                       e.size(y, static_cast<size_t>(to[axis])) != Size{1, 1};
    repeated.push_back(grows || in.repeated[axis]);
  }
  e.set(y, e.spread(e.arranged(x, axes, lazy), places, repeated, rank));
}

void write_reshape(Exporter& e, const espalier::Node& node) {
  const ValueId x = e.graph().inputs(node)[0], y = node.first_result;
  if (e.stored(x).is_scalar()) return e.set(y, e.spread(e.stored(x).name, {}, {}, e.type(y).rank()));
  std::vector<Size> sizes = e.sizes(y);
  size_t varying = 0;
  bool empty = false;
  for (const Size& size : sizes) {
    varying += !size.fixed();
    empty |= size.here == 0;
  }
  // Reshape computes one size itself.
  if (varying == 1 && !empty) {
    for (Size& size : sizes) {
      if (!size.fixed()) size = {-1, -1};
    }
  }
  const std::string shape = e.shape_tensor(sizes);
  std::vector<Attribute> attributes;
  if (empty) attributes = {{"allowzero", int64_t{1}}};
  e.set(y, e.emit("Reshape", {e.whole(x), shape}, attributes));
}

void write_transpose(Exporter& e, const espalier::Node& node) {
  const ValueId x = e.graph().inputs(node)[0];
  const Dims permutation = dims(node, "permutation");
  const Stored& in = e.stored(x);
  if (in.is_scalar()) return e.set(node.first_result, Stored(in));
  const Stored from = in.missing == 0 ? in : e.unrepeated(x);
  Stored out = from;
  for (size_t i = 0; i < permutation.size(); ++i) {
    out.order[i] = from.order[permutation[i]];
    out.repeated[i] = from.repeated[permutation[i]];
  }
  e.set(node.first_result, std::move(out));
}

// Slice of the stored axes; `start`, `limit` and `step` by axis of the value.
void write_slice(Exporter& e, const espalier::Node& node, const Dims& sliced,
                 const std::vector<int64_t>& start, const std::vector<int64_t>& limit,
                 const std::vector<int64_t>& step) {
  const Stored in = e.unrepeated(e.graph().inputs(node)[0]);
  Stored out = in;
  if (!sliced.empty()) {
    std::vector<int64_t> axes;
    for (const int64_t axis : sliced) axes.push_back(in.order[axis]);
    out.name =
        e.emit("Slice", {in.name, e.constant(start), e.constant(limit), e.constant(axes), e.constant(step)});
  }
  e.set(node.first_result, std::move(out));
}

void write_slice(Exporter& e, const espalier::Node& node) {
  const ValueId x = e.graph().inputs(node)[0];
  const Dims starts = dims(node, "start_indices"), limits = dims(node, "limit_indices"),
             strides = dims(node, "strides");
  Dims sliced;
  std::vector<int64_t> start, limit, step;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Size size = e.size(x, i);
    const int64_t stride = strides.empty() ? 1 : strides[i];
    // A slice to the end of the batch ends where the batch ends.
    const bool to_end = limits[i] == size.here && e.size(node.first_result, i).fixed() == size.fixed();
    if (starts[i] == 0 && to_end && stride == 1) continue;
    sliced.push_back(static_cast<int64_t>(i));
    start.push_back(starts[i]);
    limit.push_back(to_end ? kEnd : limits[i]);
    step.push_back(stride);
  }
  write_slice(e, node, sliced, start, limit, step);
}

void write_reverse(Exporter& e, const espalier::Node& node) {
  const Dims axes = dims(node, "dimensions");
  const std::vector<int64_t> minus(axes.size(), -1);
  write_slice(e, node, axes, minus, std::vector<int64_t>(axes.size(), kBefore), minus);
}

void write_pad(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  const Dims low = dims(node, "edge_padding_low"), high = dims(node, "edge_padding_high");
  for (const int64_t gap : dims(node, "interior_padding")) {
    if (gap != 0) e.refuse(node, "ONNX does not pad between elements");
  }
  const Stored in = e.unrepeated(inputs[0]);
  std::vector<int64_t> pads(2 * low.size());
  for (size_t i = 0; i < low.size(); ++i) {
    pads[in.order[i]] = low[i];
    pads[in.order[i] + low.size()] = high[i];
  }
  Stored out = in;
  out.name = e.emit("Pad", {in.name, e.constant(pads), e.whole(inputs[1])});
  e.set(node.first_result, std::move(out));
}

void write_concatenate(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  const int64_t axis = read_integer(node.attributes.get(), "dimension");
  Stored out = e.unrepeated(inputs[0]);
  std::vector<std::string> names{out.name};
  for (const ValueId input : inputs.subspan(1)) {
    const Stored next = e.unrepeated(input);
    if (next.order != out.order) break;
    names.push_back(next.name);
  }
  if (names.size() < inputs.size()) {
    names.clear();
    for (const ValueId input : inputs) names.push_back(e.whole(input));
    out = Exporter::plain("", e.type(node.first_result).rank());
  }
  out.name = e.emit("Concat", names, {{"axis", out.order[axis]}});
  e.set(node.first_result, std::move(out));
}

// The slices of x at clamped indices along `axis`; the axes of the indices stand in its place.
std::string write_take(Exporter& e, ValueId x, const std::string& indices, DType dtype, int64_t axis) {
  const bool direct = dtype == DType::kI32 || dtype == DType::kI64;
  const DType index = direct ? dtype : DType::kI64;
  const double last = static_cast<double>(e.type(x).shape[axis] - 1);
  const std::string clipped =
      e.emit("Clip", {e.cast(indices, dtype, index), e.scalar(index, 0), e.scalar(index, last)});
  return e.emit("Gather", {e.whole(x), clipped}, {{"axis", axis}});
}

void write_take(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  e.set(node.first_result, write_take(e, inputs[0], e.whole(inputs[1]), e.type(inputs[1]).dtype,
                                      read_integer(node.attributes.get(), "axis")));
}

// A gather that takes whole slices along one axis.
void write_gather(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  const ValueId x = inputs[0], indices = inputs[1];
  const Dims window = dims(node, "dimension_numbers.offset_dims"),
             collapsed = dims(node, "dimension_numbers.collapsed_slice_dims"),
             index_map = dims(node, "dimension_numbers.start_index_map"), sizes = dims(node, "slice_sizes");
  const auto vector =
      static_cast<size_t>(read_integer(node.attributes.get(), "dimension_numbers.index_vector_dim"));
  bool whole = index_map.size() == 1 && collapsed == index_map &&
               dims(node, "dimension_numbers.operand_batching_dims").empty();
  for (size_t i = 0; i < sizes.size(); ++i)
    whole &= sizes[i] == (collapsed.contains(static_cast<int64_t>(i)) ? 1 : e.type(x).shape[i]);
  if (!whole) e.refuse(node, "ONNX export takes whole slices along one axis only");
  const int64_t axis = index_map[0];
  std::string places = e.whole(indices);
  size_t depth = e.type(indices).rank();
  if (vector < depth) {
    places = e.emit("Squeeze", {places, e.constant({static_cast<int64_t>(vector)})});
    --depth;
  }
  const std::string name = write_take(e, x, places, e.type(indices).dtype, axis);
  Stored out = Exporter::plain(name, e.type(node.first_result).rank());
  for (size_t i = 0, kept = 0, batch = 0; i < out.order.size(); ++i) {
    const bool is_window = window.contains(static_cast<int64_t>(i));
    const auto place = static_cast<int64_t>(is_window ? kept++ : batch++);
    out.order[i] = !is_window ? axis + place : place < axis ? place : place + static_cast<int64_t>(depth);
  }
  e.set(node.first_result, std::move(out));
}

struct Family {
  const OpDef* op;
  void (*run)(Exporter&, const espalier::Node&);
};
const Family kMovement[] = {{&op_constant, write_constant},
                            {&op_iota, write_iota},
                            {&op_broadcast_in_dim, write_broadcast_in_dim},
                            {&op_reshape, write_reshape},
                            {&op_transpose, write_transpose},
                            {&op_slice, write_slice},
                            {&op_reverse, write_reverse},
                            {&op_pad, write_pad},
                            {&op_concatenate, write_concatenate},
                            {&op_take, write_take},
                            {&op_gather, write_gather}};

}  // namespace

bool export_movement(Exporter& e, const espalier::Node& node) {
  for (const Family& one : kMovement) {
    if (one.op != node.op) continue;
    one.run(e, node);
    return true;
  }
  return false;
}

}  // namespace espalier::onnx
