#include "espalier/tensor.h"

#include <algorithm>

#include "base/blocks.h"
#include "base/format.h"
#include "base/shortest.h"
#include "ir/device.h"
#include "ir/op.h"
#include "ir/remote_tensors.h"
#include "ir/sink.h"

namespace espalier {
namespace {

thread_local Sink* current_sink = nullptr;

// Whether an integer type or bool has this number.
bool holds_integer(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value == 0 || value == 1;
  if (size_of(dtype) == 8) return is_signed_integer(dtype) || value >= 0;
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  if (!is_signed_integer(dtype)) return value >= 0 && value >> bits == 0;
  return value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
}

const TensorNode& checked(const Tensor& tensor) {
  if (!tensor.defined())
    throw StateError("tensor.undefined", "this tensor holds nothing", "assign it before use");
  return *tensor.node();
}

// In the place of one that was given away.
class DonatedArray final : public RemoteArray {
 public:
  DonatedArray(TensorType type, const std::string& whom)
      : type_(std::move(type)), whom_(whom), at_(CallScope::current()) {}
  const TensorType& type() const override { return type_; }
  Device& device() const override { refuse(); }

 private:
  Literal copy_of(size_t) const override { refuse(); }
  [[noreturn]] void refuse() const {
    throw StateError("tensor.donated",
                     cat("this ", type_, " was donated to \"", whom_, "\"",
                         at_.known() ? cat(" at ", at_) : std::string(), ", and is gone"),
                     "use what the call gave in its place");
  }

  const TensorType type_;
  const std::string whom_;
  const Location at_;
};

}  // namespace

Tensor make_concrete(Literal literal) {
  return Tensor(std::allocate_shared<TensorNode>(BlockAllocator<TensorNode>(), std::move(literal)));
}

void TensorNode::donate(const std::string& whom) const {
  remote_ = std::make_shared<DonatedArray>(type, whom);
  known_ = false;
  donated_ = true;
  literal_ = Literal();
}

const Literal& TensorNode::downloaded() const {
  if (donated_) remote_->download();
  std::call_once(once_, [this] { literal_ = remote_->download(); });
  return literal_;
}

const Literal& TensorNode::made_dense() const {
  if (remote_ && !known_) return downloaded();
  std::call_once(once_, [this] { dense_ = std::make_unique<Literal>(literal_.expanded()); });
  return *dense_;
}

Tensor make_remote(RemoteArrayPtr array) {
  has_remote_tensors.store(true, std::memory_order_relaxed);
  TensorType type = array->type();
  return Tensor(
      std::allocate_shared<TensorNode>(BlockAllocator<TensorNode>(), std::move(type), std::move(array)));
}

Tensor make_remote(const Literal& value, Device& device) {
  constexpr size_t kKnownBytes = 1024;
  has_remote_tensors.store(true, std::memory_order_relaxed);
  RemoteArrayPtr array = device.upload(value);
  if (value.type().bytes() > kKnownBytes) return make_remote(std::move(array));
  return Tensor(
      std::allocate_shared<TensorNode>(BlockAllocator<TensorNode>(), value.expanded(), std::move(array)));
}

Tensor make_symbolic(TensorType type, uint64_t owner, uint32_t value) {
  auto node = std::make_shared<TensorNode>();
  node->type = std::move(type);
  node->owner = owner;
  node->value = value;
  return Tensor(std::move(node));
}

Tensor Tensor::from_bytes(const TensorType& type, const void* data) {
  check_type(type);
  return make_concrete(Literal::copy(type, data));
}

Tensor Tensor::from_values(const TensorType& type, const void* data, size_t count, Location at) {
  CallScope scope(at);
  check_type(type);
  if (static_cast<int64_t>(count) != type.elements()) {
    throw ShapeError("tensor.count",
                     cat("a tensor of ", type, " needs ", type.elements(), " values, got ", count));
  }
  return from_bytes(type, data);
}

bool Tensor::concrete() const { return checked(*this).owner == 0; }
const TensorType& Tensor::type(Location at) const {
  if (defined()) return node_->type;
  const CallScope scope(at);
  return checked(*this).type;
}

int64_t Tensor::size(int64_t axis, Location at) const {
  const int64_t rank = static_cast<int64_t>(this->rank(at));
  if (axis < -rank || axis >= rank) {
    CallScope scope(at);
    throw ShapeError("tensor.axis", cat("axis ", axis, " is outside of ", type()));
  }
  return shape()[axis < 0 ? axis + rank : axis];
}

const void* Tensor::bytes() const {
  const TensorNode& node = checked(*this);
  if (node.owner != 0) {
    throw StateError(
        "tensor.symbolic", cat("the values of ", node.type, " are not known while a function is traced"),
        "compute with tensor ops (cond, where) instead of reading data, or read it outside the function");
  }
  return node.dense().raw();
}

const void* Tensor::checked_data(DType wanted, Location at) const {
  CallScope scope(at);
  const void* data = bytes();
  if (wanted != dtype())
    throw DTypeError("tensor.dtype",
                     cat("its values are asked for as ", wanted, ", and the tensor is ", type()));
  return data;
}

void Tensor::require_single(Location at) const {
  CallScope scope(at);
  if (type().elements() != 1)
    throw ShapeError("tensor.item", cat("item() needs one element, this is ", type()));
}

const Tensor& Operand::tensor() const {
  if (scalar_) {
    CallScope scope(at_);
    throw ValueError("operand.scalar", "a C++ scalar stands where no tensor beside it fixes its dtype",
                     "wrap it: Tensor::scalar(1.0f)");
  }
  return tensor_;
}

Tensor Operand::as(DType dtype) const {
  if (!scalar_) return tensor_;
  if (!integral_ && !is_float(dtype)) {
    CallScope scope(at_);
    throw DTypeError("operand.fraction", cat("the scalar ", shortest(real_), " meets a tensor of ", dtype),
                     "write an integer, or convert the tensor");
  }
  const bool fits = is_float(dtype) || (huge_ ? dtype == DType::kU64 : holds_integer(dtype, integer_));
  if (!fits) {
    CallScope scope(at_);
    throw ValueError("operand.value",
                     cat("the scalar ", huge_ ? cat(static_cast<uint64_t>(integer_)) : cat(integer_),
                         " meets a tensor of ", dtype, ", which does not hold it"),
                     "convert the tensor to a wider dtype first");
  }
  const TensorType type{dtype, {}};
  if (huge_ && is_float(dtype)) return make_concrete(Literal::splat(type, real_));
  return make_concrete(integral_ ? Literal::splat(type, integer_) : Literal::splat(type, real_));
}

Sink& Sink::current() { return current_sink ? *current_sink : eager_sink(); }
SinkScope::SinkScope(Sink& sink) : previous_(current_sink) { current_sink = &sink; }
SinkScope::~SinkScope() { current_sink = previous_; }

namespace {
thread_local int depth = 0;
}

Depth::Depth(const char* what) {
  constexpr int kDeepest = 256;
  if (depth >= kDeepest)
    throw UnsupportedError("graph.depth",
                           cat(what, " inside of ", kDeepest, " others: does it call itself?"));
  ++depth;
}
Depth::~Depth() { --depth; }

bool is_recorded(const Sink& sink) {
  bool found = false;
  Recorder::each([&](const Recorder& recorder) { found = found || recorder.sink() == &sink; });
  return found;
}

std::vector<Tensor> emit_all(const OpDef& op, AttributesPtr attributes, std::span<const Tensor> inputs,
                             std::span<const GraphPtr> regions) {
  for (const Tensor& input : inputs) checked(input);
  Sink& sink = Sink::current();
  const Call call{op, attributes, inputs, regions};
  std::vector<Tensor> outputs = sink.emit(call);
  Recorder::each([&](Recorder& recorder) {
    if (recorder.sink() == &sink) recorder.record(call, outputs);
  });
  return outputs;
}

Tensor emit(const OpDef& op, AttributesPtr attributes, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs = emit_all(op, std::move(attributes), inputs);
  if (outputs.size() != 1) throw InternalError(cat(op.name, " has ", outputs.size(), " results"));
  return std::move(outputs[0]);
}

Tensor GradientContext::cotangent(size_t i) const {
  if (cotangents[i].defined()) return cotangents[i];
  return make_concrete(Literal::splat(outputs[i].type(), 0.0));
}

}  // namespace espalier
