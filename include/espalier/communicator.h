// What the ranks of a run talk through. Engines of collectives derive from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace espalier {

class ThreadPool;

// What a rank is doing, for those who wait for it.
enum class Stage : uint8_t {
  kStart,       // before its first step
  kInput,       // waits for a batch
  kTrace,       // makes the plan of a step
  kStep,        // runs a step
  kCollective,  // waits for other ranks
  kCallback,
  kEvaluate,
  kSave,
  kEnd,  // behind its last step
};

// One call that all ranks make together, in one order. Engines move bytes: what an element is they are told.
struct Collective {
  enum class Kind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kBarrier };
  // to[i] = from[0][i] op from[1][i] op ... for i < count, in the order of ranks. `to` may be one of `from`.
  using Reduce = void (*)(std::byte* to, const std::byte* const* from, int ranks, size_t count);

  Kind kind = Kind::kBarrier;
  std::string_view name;  // "gradients/2": what errors and records call it
  std::string_view type;  // "f32 sum": ranks that name another kind, name, type or count are told so
  size_t element = 1;     // bytes of one
  size_t count = 0;       // elements that each rank gives; of kReduceScatter a multiple of the world
  Reduce reduce = nullptr;
  int root = 0;  // of kBroadcast
  // Of which call of a program, counted from 1, and of which program: the communicator's, of begin_program().
  // 0: not told.
  uint64_t call = 0;
  std::string_view program = {};
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  // This process's place among `world()` of them, counted from 0.
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // The bits that are set on any rank: what all of them must do alike is decided so. Every rank calls it, in
  // the same order.
  virtual uint32_t any(uint32_t bits) = 0;

  // Memory that other ranks can reach while a collective runs, of zeros, 64-byte aligned: what lies there is
  // not copied. It may outlive the communicator. Raises RunError[comm.memory].
  virtual std::shared_ptr<std::byte[]> allocate(size_t bytes);
  // Begins a collective on `data`, this rank's elements, which nobody else touches until done() has returned.
  // kAllReduce: `data` lies in memory of allocate(), and takes the result. kReduceScatter: so too, and holds
  // anything afterwards; `out` takes the elements of this rank's place. kAllGather: `out` takes those of all
  // ranks, in their order. kBroadcast: the root's `data` come to `out` on all ranks; null on the root: it
  // needs none. Gives a ticket; those of one communicator are done in the order in which they began.
  virtual uint64_t start(const Collective& what, std::byte* data, std::byte* out);
  // Waits for it, and works on `pool` as long as that helps. Raises RunError[comm.mismatch] where ranks began
  // different ones, [comm.verdict] where one is gone or the run is given up. Both are final: later calls
  // raise them again.
  virtual void done(uint64_t ticket, ThreadPool& pool);

  // This rank calls a program by the name that collectives may belong to, up to the next such call. Ranks of
  // which one makes more calls than another, or a collective of another call, raise RunError[comm.mismatch]:
  // collectives are never paired because they are alike.
  virtual void begin_program(std::string_view /*name*/) {}
  // Says what this rank does, `number` of its kind (a step, an epoch), for verdicts on ranks that do not
  // come. Cheap: a few nanoseconds.
  virtual void stage(Stage, int64_t /*number*/) {}
  // This rank cannot go on: nobody waits for it any more, and others raise RunError[comm.verdict] with `why`.
  virtual void abort(std::string_view /*why*/) {}
};

// start() and done() of one.
inline void run_collective(Communicator& communicator, const Collective& what, std::byte* data,
                           std::byte* out, ThreadPool& pool) {
  communicator.done(communicator.start(what, data, out), pool);
}

}  // namespace espalier
