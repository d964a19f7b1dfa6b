// Devices as tensors, variables and functions see them: what holds arrays and runs programs elsewhere than in
// the host's memory. The CPU of this process is none: its arrays are literals, its programs plans. src/pjrt
// has those of plugins.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/made_once.h"
#include "ir/alias.h"
#include "ir/graph.h"
#include "ir/literal.h"

namespace espalier {

class Device;
class RunContext;

// An array on a device: computed, or still being computed there. Immutable, until a program is given it for
// good.
class RemoteArray {
 public:
  virtual ~RemoteArray() = default;
  virtual const TensorType& type() const = 0;
  virtual Device& device() const = 0;
  // Waits until it is computed and copies what a replica has of it to the host. Raises
  // DeviceError[device.lost] where the run that should have given it failed. REQUIRES: replica is one of the
  // device's.
  Literal download(size_t replica = 0) const;

 private:
  virtual Literal copy_of(size_t replica) const = 0;
};
using RemoteArrayPtr = std::shared_ptr<RemoteArray>;

// A program for a device.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Starts it in a context; does not wait for its end, but may for that of runs before. donated[i]: the
  // program may take the memory of input i for its results; that array is gone then, also where the run fails
  // later. Raises ShapeError or DTypeError[device.inputs] for an input that is not the program's, DeviceError
  // where the device refuses; every input is as it was then.
  virtual std::vector<RemoteArrayPtr> run(std::span<const RemoteArrayPtr> inputs,
                                          std::span<const char> donated, const RunContext& context) const = 0;
};

// What arrays take of a device's memory, in bytes.
struct DeviceMemory {
  int64_t current = 0, peak = 0;
  int64_t limit = 0;    // 0: not known
  int64_t program = 0;  // what the compiler says that the largest program takes; 0: it does not
};

// How products and convolutions of f32 are computed on a device: with all bits of a float, with about 16 of
// its significand, or as fast as the device can, which is TF32 on NVIDIA and bfloat16 on TPUs.
enum class MatmulPrecision { kHighest, kHigh, kDefault };
// Of this process: kHighest at first. What is compiled for a device afterwards follows it.
MatmulPrecision matmul_precision();
void set_matmul_precision(MatmulPrecision precision);

// What a compilation depends on, besides its graph and its device.
struct ProgramOptions {
  std::span<const Alias> aliases = {};  // of equal types; no input or output stands in two
  MatmulPrecision precision = matmul_precision();
};

// Programs of one op each, for eager calls: those that were used last. Thread-safe.
class SingleOps {
 public:
  // More than the ops of an eager step of a large model, so that it compiles them once; each takes some
  // dozens of KiB and more, so that a loop over lengths may not keep one a length.
  static constexpr size_t kMost = 1024;
  using Program = MadeOnce<DeviceProgram>;
  // That of a graph with this hash, which whoever needs it makes. It lives as long as somebody holds it.
  std::shared_ptr<Program> find(const GraphPtr& graph, uint64_t hash);
  size_t kept() const;
  // To be called for each that was compiled; gives how many were.
  size_t count_compiled() { return ++compiled_; }

 private:
  struct Kept {
    uint64_t hash;
    GraphPtr graph;
    std::shared_ptr<Program> program;
  };
  mutable std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<uint64_t, std::list<Kept>::iterator> by_hash_;
  std::atomic<size_t> compiled_ = 0;
};

// One that no device, and no other place where programs run, has had in this process: from 1 on.
uint64_t new_place_number();

class Device {
 public:
  virtual ~Device() = default;
  // What tells it from one that is made at its address when it is gone.
  const uint64_t number = new_place_number();
  // As a user names it: "gpu:0", "xla-cpu:0".
  virtual const std::string& name() const = 0;
  virtual DeviceMemory memory() const = 0;
  // How many run a program at once, each on arrays of its own: more than one where several devices of a
  // plugin are one here. They meet in the program's collectives.
  virtual size_t replicas() const { return 1; }
  // Replicas of all processes that run a program together, and the number of the first one here.
  virtual size_t world() const { return replicas(); }
  virtual size_t first_replica() const { return 0; }
  // As a user names the device of one of them.
  virtual const std::string& replica_name(size_t) const { return name(); }
  // `value` need not outlive the call, and is the same for all replicas. Splats are expanded.
  RemoteArrayPtr upload(const Literal& value);
  // The same with a value for each replica. REQUIRES: there are as many, of one type.
  RemoteArrayPtr upload_each(std::span<const Literal> values);
  // Raises UnsupportedError[device.program] for what the device does not compute as StableHLO says,
  // DeviceError where it refuses.
  virtual std::shared_ptr<const DeviceProgram> compile(const Graph& graph,
                                                       const ProgramOptions& options = {}) = 0;

  // What a person should hear of it, as that a compilation took long; who takes them shows them.
  void note(std::string text);
  std::vector<std::string> take_notes();
  bool has_notes() const { return has_notes_.load(std::memory_order_relaxed); }

  SingleOps single_ops;  // that eager calls have had compiled

 private:
  virtual RemoteArrayPtr keep(std::span<const Literal> values) = 0;

  std::mutex notes_mutex_;
  std::vector<std::string> notes_;
  std::atomic<bool> has_notes_ = false;
};

}  // namespace espalier
