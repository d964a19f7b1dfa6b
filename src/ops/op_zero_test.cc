// Every op with each of its axes of size 0. Vectors may be read, but not written, some bytes behind an array,
// so an overflow is looked for in bytes of our own, besides what the address sanitizer sees.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/float_environment.h"
#include "interp/interpreter.h"
#include "ir/difference_test.h"
#include "kernels/kernel.h"
#include "ops/op_checks_test.h"
#include "ops/registry.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

// Reads all whole numbers of attributes that may be sizes, or writes them, in the order of the fields.
class Sizes final : public FieldVisitor {
 public:
  std::vector<int64_t> values;
  bool writes = false;

  using FieldVisitor::word;
  void field(const char*, bool&) override {}
  void field(const char*, int64_t& value) override { size(value); }
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Dims& value) override {
    for (int64_t& one : value) size(one);
  }
  void field(const char*, DType&) override {}
  void field(const char* name, TensorType& value) override { field(name, value.shape); }
  void field(const char*, Literal&) override {}
  void word(const char*, int&, std::span<const char* const>) override {}

 private:
  void size(int64_t& value) {
    if (writes) value = values.at(next_);
    ++next_;
    if (!writes) values.push_back(value);
  }
  size_t next_ = 0;
};

std::vector<int64_t> sizes_of(const AttributesPtr& attributes) {
  Sizes sizes;
  if (attributes) const_cast<Attributes&>(*attributes).fields(sizes);
  return sizes.values;
}

// Attributes with other sizes, as long as this lives.
class OtherSizes {
 public:
  OtherSizes(AttributesPtr attributes, std::vector<int64_t> sizes)
      : attributes_(std::move(attributes)), before_(sizes_of(attributes_)) {
    write(std::move(sizes));
  }
  ~OtherSizes() { write(before_); }
  OtherSizes(const OtherSizes&) = delete;
  OtherSizes& operator=(const OtherSizes&) = delete;

 private:
  void write(std::vector<int64_t> sizes) {
    Sizes writer;
    writer.values = std::move(sizes);
    writer.writes = true;
    if (attributes_) const_cast<Attributes&>(*attributes_).fields(writer);
  }
  AttributesPtr attributes_;
  std::vector<int64_t> before_;
};

// Arrays to write to, between bytes that must stay.
class Guarded {
 public:
  explicit Guarded(std::span<const Tensor> like) {
    for (const Tensor& tensor : like) {
      memory_.emplace_back(2 * kGuard + tensor.type().bytes(), kByte);
      types_.push_back(tensor.type());
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      data_.push_back(memory_[i].data() + kGuard);
      views_.push_back({&types_[i], data_.back()});
    }
  }
  void* const* data() const { return data_.data(); }
  std::span<const MutableArrayView> views() const { return views_; }
  Tensor result(size_t i) const { return make_concrete(Literal::copy(types_[i], data_[i])); }
  void expect_untouched(const std::string& what) const {
    for (size_t i = 0; i < types_.size(); ++i) {
      const auto guard = [&](size_t from) {
        return std::all_of(memory_[i].begin() + static_cast<std::ptrdiff_t>(from),
                           memory_[i].begin() + static_cast<std::ptrdiff_t>(from + kGuard),
                           [](std::byte byte) { return byte == kByte; });
      };
      EXPECT_TRUE(guard(0) && guard(kGuard + types_[i].bytes()))
          << what << " writes outside of result " << i << ", " << to_string(types_[i]);
    }
  }

 private:
  static constexpr size_t kGuard = 4096;
  static constexpr std::byte kByte{0xa5};
  std::vector<std::vector<std::byte>> memory_;
  std::vector<TensorType> types_;
  std::vector<void*> data_;
  std::vector<MutableArrayView> views_;
};

bool is_empty(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& t) { return t.type().elements() == 0; });
}

std::vector<Literal> literals(std::span<const Tensor> tensors) {
  std::vector<Literal> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.node()->dense());
  return out;
}

void expect_alike(std::span<const Tensor> wanted, const Guarded& got, const std::string& what) {
  got.expect_untouched(what);
  // Kernels may sum in another order.
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_close(got.result(i), to_array(wanted[i]), {.ulp = 64, .absolute = 64}, cat(what, ", result ", i));
}

// The reference body and the kernel of one call by themselves.
void check_bodies(const TapeEntry& call) {
  if (!call.regions.empty() || !call.op->eval) return;
  std::vector<const TensorType*> types, results;
  std::vector<ArrayView> views;
  std::vector<const void*> in;
  for (const Tensor& input : call.inputs) {
    types.push_back(&input.type());
    views.push_back({&input.type(), input.node()->dense().raw()});
    in.push_back(views.back().data);
  }
  for (const Tensor& output : call.outputs) results.push_back(&output.type());
  const FloatEnvironment mode;
  const Guarded out(call.outputs);
  EvalContext context{call.attributes.get(),  views,  out.views(), {}, nullptr,
                      &RunContext::current(), nullptr};
  call.op->eval(context);
  expect_alike(call.outputs, out, cat("the body of ", call.op->name));
  const PreparedKernel kernel = prepare_kernel({*call.op, call.attributes.get(), types, results});
  // Results of one in place lie where a plan has them.
  if (!kernel.run || exchanges_in_place(*call.op)) return;
  const Guarded by_kernel(call.outputs);
  const Buffer workspace = allocate_buffer(kernel.workspace);
  kernel.run(
      {&RunContext::current(), nullptr, kernel.params.get(), in.data(), by_kernel.data(), workspace.get()});
  expect_alike(call.outputs, by_kernel, cat("the kernel of ", call.op->name));
}

// Calls that were checked, by what they are given; those with regions are none.
using Seen = std::set<std::string>;
std::string text_of(const OpDef& op, const AttributesPtr& attributes, std::span<const Tensor> inputs) {
  std::string out = cat(op.name, to_string(attributes));
  for (const Tensor& input : inputs) out += cat(" ", input.type());
  return out;
}

// Runs f eagerly, through its plans and in the interpreter; the calls of `op` that it makes get no or give no
// element: how many of them are new.
template <class F>
int check_everywhere(const OpDef& op, const std::vector<Tensor>& inputs, Seen& seen, F f) {
  std::vector<Tensor> eager;
  std::vector<TapeEntry> calls;
  {
    CallLog log;
    eager = f(inputs);
    calls = log.calls;
  }
  int empty = 0;
  for (const TapeEntry& call : calls) {
    if (!is_empty(call.inputs) && !is_empty(call.outputs)) continue;
    const bool fresh =
        !call.regions.empty() || seen.insert(text_of(*call.op, call.attributes, call.inputs)).second;
    empty += call.op == &op && fresh;
    if (fresh) check_bodies(call);
  }
  if (!empty) return 0;
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs)
      arguments.push_back(builder.argument(cat("x", arguments.size()), input.type()));
    for (const Tensor& result : f(arguments)) builder.result("y", result);
  }
  const std::shared_ptr<Graph> graph = builder.finish();
  graph->verify();
  const std::vector<Literal> operands = literals(inputs),
                             interpreted = interpret(*graph, operands, RunContext::current());
  for (size_t i = 0; i < eager.size(); ++i)
    expect_close(make_concrete(interpreted[i]), to_array(eager[i]), {.ulp = 64, .absolute = 64},
                 cat("interpreted result ", i));
  for (const bool fuse : {false, true}) {
    const auto plan = compile(graph, {.fuse = fuse, .check = true});
    const Guarded out(eager);
    std::vector<ArrayView> views;
    for (const Literal& operand : operands) views.push_back(operand.view());
    run(*plan, views, out.views(), RunContext::current());
    expect_alike(eager, out, fuse ? "the plan" : "the plan that fuses nothing");
  }
  return empty;
}

// A place of a size: the axis of an input, or a number of the attributes.
struct Place {
  size_t input, axis;  // of no input: the attributes'
  int64_t size;
};

// Which places become 0 together: none, each alone, all of one size, those of one axis, and pairs of one
// size.
std::set<std::vector<size_t>> choices(const std::vector<Place>& places, size_t inputs) {
  std::set<std::vector<size_t>> out{{}};
  const auto add = [&](auto chosen) {
    std::vector<size_t> choice;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].size != 0 && chosen(i)) choice.push_back(i);
    }
    out.insert(choice);
  };
  const auto given = [&](size_t i) { return places[i].input < inputs; };
  for (size_t k = 0; k < places.size(); ++k) {
    const Place& place = places[k];
    add([&](size_t i) { return i == k; });
    add([&](size_t i) { return places[i].size == place.size; });
    add([&](size_t i) { return given(i) && places[i].size == place.size; });
    if (!given(k)) continue;
    add([&](size_t i) { return given(i) && places[i].axis == place.axis; });
    for (size_t j = 0; j < places.size(); ++j) {
      if (places[j].size == place.size) add([&](size_t i) { return i == k || i == j; });
    }
  }
  return out;
}

bool finite(std::span<const Tensor> tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& t) {
    const std::vector<double> values = to_array(t).values;
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  });
}

// By differences, or, where there is none to take, of no element or of a result as -inf, its type alone.
void check_gradient_of(const OpDef& op, const OpCase& c, const std::vector<Tensor>& inputs) {
  CallLog log;
  const std::vector<Tensor> results = c.call(inputs, DType::kF64);
  if (op.no_gradient || c.no_gradient) return;
  // Of no classes every label is wrong, and its cotangent has no number for a gradient, whatever uses it.
  const bool wrong = &op == &op_softmax_cross_entropy_gradient && results[0].type().elements() == 0;
  const bool moves = std::ranges::any_of(
      inputs, [](const Tensor& t) { return is_float(t.dtype()) && t.type().elements() > 0; });
  if (moves && finite(results) && !wrong) return check_gradient(op, c);
  std::vector<Tensor> targets = results;
  std::erase_if(targets, [](const Tensor& t) { return !is_float(t.dtype()); });
  const std::vector<TapeEntry> calls = log.calls;
  const std::vector<Tensor> gradients = reverse(calls, targets, {}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i].defined()) continue;
    EXPECT_EQ(to_string(gradients[i].type()), to_string(inputs[i].type())) << "gradient of input " << i;
  }
}

// The rule that refuses the call, none where it is taken.
template <class Call>
std::optional<std::string> refusal_of(Call call) {
  try {
    call();
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return error.rule();
  }
  return std::nullopt;
}

// Sizes to hold a refused 0 against: those that no place has, so that they fit nothing either, and not 1,
// which repeats. One is small, one larger than all.
std::vector<int64_t> twins_of_zero(const std::vector<Place>& places) {
  std::set<int64_t> sizes;
  for (const Place& place : places) sizes.insert(place.size);
  int64_t small = 2;
  while (sizes.contains(small)) ++small;
  return {small, std::max(small, sizes.empty() ? 0 : *sizes.rbegin()) + 1};
}

// Rules that refuse a 0 where another size is taken, as `call` makes the call with it.
using Refused = std::set<std::string>;
template <class Call>
void note_refusal(const std::string& rule, const std::vector<Place>& places, Refused* refused, Call call) {
  if (!refused || refused->contains(rule)) return;
  for (const int64_t size : twins_of_zero(places)) {
    if (!refusal_of([&] { call(size); })) refused->insert(rule);
  }
}

// One case's call with other sizes of its inputs, as far as the rules take them.
int check_inputs(const OpDef& op, const OpCase& c, DType dtype, Seen& seen, Refused* refused) {
  std::vector<Place> places;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    for (size_t axis = 0; axis < c.inputs[i].shape.size(); ++axis)
      places.push_back({i, axis, c.inputs[i].shape[axis]});
  }
  int reached = 0;
  for (const std::vector<size_t>& choice : choices(places, c.inputs.size())) {
    const auto with = [&](int64_t size) {
      OpCase out = c;
      for (const size_t i : choice) out.inputs[places[i].input].shape[places[i].axis] = size;
      return out;
    };
    const OpCase other = with(0);
    std::string shapes;
    for (const In& in : other.inputs) shapes += cat(" ", in.shape);
    SCOPED_TRACE(cat("inputs", shapes));
    const std::vector<Tensor> inputs = draw_inputs(other, dtype, 1);
    if (const auto rule = refusal_of([&] { other.call(inputs, dtype); })) {
      note_refusal(*rule, places, refused, [&](int64_t size) {
        const OpCase twin = with(size);
        twin.call(draw_inputs(twin, dtype, 1), dtype);
      });
      continue;
    }
    const int runs = check_everywhere(op, inputs, seen,
                                      [&](const std::vector<Tensor>& x) { return other.call(x, dtype); });
    if (runs && op.decompose && dtype == DType::kF32) check_decomposition(op, other, dtype);
    if (runs && dtype == DType::kF64) check_gradient_of(op, other, inputs);
    reached += runs;
  }
  return reached;
}

// The op's call in a case with other sizes of inputs and attributes, as far as its rule takes them.
int check_call(const TapeEntry& call, Seen& seen, Refused* refused) {
  if (!call.regions.empty() || call.op == &op_constant) return 0;
  const std::vector<int64_t> sizes = sizes_of(call.attributes);
  std::vector<Place> places;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& shape = call.inputs[i].shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) places.push_back({i, axis, shape[axis]});
  }
  const size_t first = places.size();
  for (const int64_t size : sizes) places.push_back({call.inputs.size(), 0, size});
  int reached = 0;
  for (const std::vector<size_t>& choice : choices(places, call.inputs.size())) {
    struct Sized {
      std::vector<int64_t> attributes;
      std::vector<TensorType> types;
      std::vector<const TensorType*> pointers;
    };
    const auto with = [&](int64_t size) {
      Sized out{.attributes = sizes, .types = {}, .pointers = {}};
      for (const Tensor& input : call.inputs) out.types.push_back(input.type());
      for (const size_t i : choice)
        (i < first ? out.types[places[i].input].shape[places[i].axis] : out.attributes[i - first]) = size;
      for (const TensorType& type : out.types) out.pointers.push_back(&type);
      return out;
    };
    const auto infer = [&](const Sized& sized) {
      const OtherSizes written(call.attributes, sized.attributes);
      infer_types(*call.op, call.attributes.get(), sized.pointers, {});
    };
    const Sized zero = with(0);
    const std::vector<TensorType>& types = zero.types;
    const OtherSizes zeros(call.attributes, zero.attributes);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      const Tensor& given = call.inputs[i];
      inputs.push_back(
          types[i] == given.type()
              ? given
              : to_tensor(types[i], std::vector<double>(static_cast<size_t>(types[i].elements()), 1.0)));
    }
    const std::string text = text_of(*call.op, call.attributes, inputs);
    if (seen.contains(text)) continue;
    SCOPED_TRACE(text);
    if (const auto rule = refusal_of([&] { infer(zero); })) {
      note_refusal(*rule, places, refused, [&](int64_t size) { infer(with(size)); });
      continue;
    }
    reached += check_everywhere(*call.op, inputs, seen, [&](const std::vector<Tensor>& x) {
      return emit_all(*call.op, call.attributes, x);
    });
  }
  return reached;
}

// Of each op the rules that refuse a 0 where another size is taken.
const std::map<std::string_view, std::string_view> kNeedElements = {
    // An element is named or taken, which an empty axis has not.
    {"argmax", "argmax.c2"},
    {"argmin", "argmin.c2"},
    {"take", "take.c3 take.range"},
    {"top_k", "top_k.c2"},
    // A part lies inside of the whole.
    {"dynamic_slice", "dynamic_slice.c2"},
    {"dynamic_update_slice", "dynamic_update_slice.c3"},
    {"pad", "pad.c4"},
    {"random_bits", "random_bits.c2"},
    {"scatter", "scatter.c10"},
    {"slice", "slice.c2 slice.c3"},
    // Strides, dilations, windows and bits are at least 1; results have the size that windows give.
    {"conv_gradient_input", "conv_gradient_input.c1"},
    {"conv_gradient_kernel", "conv_gradient_kernel.c1"},
    {"convolution", "convolution.c3"},
    {"reduce_precision", "reduce_precision.c2"},
    {"reduce_window", "reduce_window.c4"},
    {"select_and_gather", "select_and_gather.c4"},
    {"select_and_scatter", "select_and_scatter.c4 select_and_scatter.c5"},
    // Operands of a group's processes, or parts for each, make up the whole.
    {"all_gather", "all_gather.c4 all_gather.c5"},
    {"all_to_all", "all_to_all.c2"},
    {"reduce_scatter", "reduce_scatter.c6"},
    // The 0 is the number of an axis as well, here of another one.
    {"batch_normalization", "batch_normalization.c2"},
    {"broadcast_in_dim", "broadcast_in_dim.c4"},
    {"gather", "gather.c3 gather.c7 gather.c9"},
};

}  // namespace

void check_zero_sizes(const OpDef& op, const OpTest& test) {
  int reached = 0;
  Seen seen;
  Refused refused;
  for (const OpCase& c : test.cases) {
    SCOPED_TRACE(cat("case ", c.name));
    Refused* its = &refused;  // those of one dtype: sizes fit all alike
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI32, DType::kBool}) {
      if (!in_set(dtype, c.dtypes)) continue;
      SCOPED_TRACE(cat("dtype ", dtype));
      reached += check_inputs(op, c, dtype, seen, its);
      CallLog log(&op);
      c.call(draw_inputs(c, dtype, 1), dtype);
      for (const TapeEntry& call : std::vector<TapeEntry>(log.calls)) reached += check_call(call, seen, its);
      its = nullptr;
    }
  }
  EXPECT_TRUE(reached > 0 || test.no_zero_size) << "no call has an axis of size 0";
  std::string rules;
  for (const std::string& rule : refused) rules += cat(rules.empty() ? "" : " ", rule);  // sorted
  const auto due = kNeedElements.find(op.name);
  EXPECT_EQ(rules, due == kNeedElements.end() ? "" : due->second)
      << "rules that refuse a 0 and no other size";
}

}  // namespace espalier
