// Where ops go: a graph under construction, or straight to execution. Ops are called from anywhere and know
// neither.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "espalier/tensor.h"
#include "ir/attributes.h"
#include "ir/thread_chain.h"

namespace espalier {

class Graph;
class Device;
class RemoteArray;
using RemoteArrayPtr = std::shared_ptr<RemoteArray>;
struct OpDef;
using GraphPtr = std::shared_ptr<const Graph>;

// The inside of a Tensor. Concrete: it has a literal, or lies on a device. Symbolic: `owner` is the serial of
// the graph builder whose value `value` it is.
struct TensorNode {
  TensorType type;
  uint64_t owner = 0;
  uint32_t value = 0;

  TensorNode() = default;
  explicit TensorNode(Literal literal) : type(literal.type()), literal_(std::move(literal)) {}
  TensorNode(TensorType type, RemoteArrayPtr remote) : type(std::move(type)), remote_(std::move(remote)) {}
  // What was uploaded, and is known here as well.
  TensorNode(Literal literal, RemoteArrayPtr remote)
      : type(literal.type()), literal_(std::move(literal)), remote_(std::move(remote)), known_(true) {}

  // The data on the host: downloaded once where they lie on a device.
  const Literal& literal() const { return remote_ && !known_ ? downloaded() : literal_; }
  // The literal with every element stored; computed once for a splat.
  const Literal& dense() const { return remote_ || literal_.is_splat() ? made_dense() : literal_; }
  // Whether no other tensor and no literal shares the array.
  bool owns_array() const { return (remote_ ? remote_.use_count() : literal_.buffer().use_count()) == 1; }
  // Where it lies on a device; null where the host has it.
  const RemoteArrayPtr& remote() const { return remote_; }
  // Whether an eager op takes it to the device of its other operands: one element, one value in all places,
  // or what was computed of nothing else, as an iota.
  bool moves() const { return moves_ || literal_.is_splat() || type.elements() == 1; }
  void let_move() const { moves_ = true; }
  // Whether a variable or a tape holds it too, so that nobody may be given its array.
  bool kept() const { return kept_.load(std::memory_order_relaxed); }
  void keep() const { kept_.store(true, std::memory_order_relaxed); }
  // The array is somebody else's from here on: whoever reads the tensor hears StateError[tensor.donated],
  // with `whom` and the line of the innermost CallScope. REQUIRES: !kept().
  void donate(const std::string& whom) const;

 private:
  const Literal& downloaded() const;
  const Literal& made_dense() const;
  mutable Literal literal_;
  mutable RemoteArrayPtr remote_;
  mutable bool known_ = false;    // literal_ is what remote_ holds, from the beginning
  mutable bool donated_ = false;  // remote_ says to whom
  mutable std::once_flag once_;   // of the download, or of a splat's expansion: what was downloaded is none
  mutable std::unique_ptr<Literal> dense_;
  mutable bool moves_ = false;
  mutable std::atomic<bool> kept_{false};
};
Tensor make_concrete(Literal literal);
// On a device, until its data are asked for.
Tensor make_remote(RemoteArrayPtr array);
// Uploaded; what is small stays known here, so that nobody waits for the device to hear of it.
Tensor make_remote(const Literal& value, Device& device);
Tensor make_symbolic(TensorType type, uint64_t owner, uint32_t value);

// One op call.
struct Call {
  const OpDef& op;
  const AttributesPtr& attributes;
  std::span<const Tensor> inputs;
  std::span<const GraphPtr> regions;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::vector<Tensor> emit(const Call& call) = 0;
  // The sink of this thread: the innermost SinkScope's, or eager_sink().
  static Sink& current();
};

// Executes at once. Defined by the room that runs ops.
Sink& eager_sink();

class SinkScope {
 public:
  explicit SinkScope(Sink& sink);
  ~SinkScope();
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;

 private:
  Sink* previous_;
};

// Sees every op that is called in the sink that was current when it was made (not those inside regions).
class Recorder : public ThreadChain<Recorder> {
 public:
  Recorder() : sink_(&Sink::current()) {}
  virtual ~Recorder() = default;
  virtual void record(const Call& call, std::span<const Tensor> outputs) = 0;
  Sink* sink() const { return sink_; }

 private:
  Sink* sink_;
};

// Whether a Recorder of this thread sees the calls of `sink`.
bool is_recorded(const Sink& sink);

// Counts how deep functions, layers and regions call each other on this thread. Raises
// UnsupportedError[graph.depth] beyond 256: before the stack ends.
class Depth {
 public:
  explicit Depth(const char* what);
  ~Depth();
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

// Calls an op in the current sink.
std::vector<Tensor> emit_all(const OpDef& op, AttributesPtr attributes, std::span<const Tensor> inputs,
                             std::span<const GraphPtr> regions = {});
// The same for an op with one result.
Tensor emit(const OpDef& op, AttributesPtr attributes, std::span<const Tensor> inputs);
inline Tensor emit(const OpDef& op, AttributesPtr attributes, std::initializer_list<Tensor> inputs) {
  return emit(op, std::move(attributes), std::span<const Tensor>(inputs.begin(), inputs.size()));
}

}  // namespace espalier
