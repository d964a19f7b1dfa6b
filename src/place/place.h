// Where programs run: this CPU, pools of it, a device, several devices. A place makes a program of a graph,
// and a program has one call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/told.h"
#include "espalier/run_context.h"
#include "ir/device.h"
#include "ir/graph.h"
#include "ir/sink.h"

namespace espalier {

// What a place has made of a graph, or of one for each of its replicas. Any number of threads may run one at
// once.
class Program {
 public:
  virtual ~Program() = default;
  // Takes concrete tensors, of the types and in the order of the graph's inputs, wherever they lie, and gives
  // its outputs; those of replicas stand one behind the other. donated[i]: nobody but the caller holds the
  // array of input i, and the output that is its pair may take its place. An output stays undefined where the
  // donated tensor holds it now, and where another replica gives the same new value. Where it raises, arrays
  // of this host are as they were.
  void run(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
           const RunContext& context) const {
    const Told told(context.events, {Activity::Kind::kRun, name_});
    call(inputs, donated, outputs, context);
  }

  // About how many bytes it holds here, on this host: whoever keeps programs keeps so many of them. Nothing:
  // it lies elsewhere, and nobody knows.
  virtual std::optional<size_t> bytes() const { return std::nullopt; }

 protected:
  // Of a program that is made of others: these are a part of its run, which is told once.
  static void run_within(const Program& part, std::span<const Tensor* const> inputs,
                         std::span<const char> donated, std::span<Tensor> outputs,
                         const RunContext& context) {
    part.call(inputs, donated, outputs, context);
  }

 private:
  friend class Place;
  virtual void call(std::span<const Tensor* const> inputs, std::span<const char> donated,
                    std::span<Tensor> outputs, const RunContext& context) const = 0;
  std::string name_;  // of its graphs
};

// A graph to be compiled. Of a pair the input may lie where the output will, if it is donated: their types
// are equal, and none stands in two.
struct PlacedGraph {
  GraphPtr graph;
  std::span<const Alias> pairs = {};
};

// What a compilation follows, besides its graphs.
struct PlaceKey {
  uint64_t where = 0;  // the number of a device, or of pools; 0: this CPU
  int rank = 0, world = 1;
  bool replicas = false;  // of a strategy: what would differ between them is refused
  MatmulPrecision precision = MatmulPrecision::kHighest;
  bool operator==(const PlaceKey&) const = default;
};

// How many rows a place wants its programs to have.
struct RowsPolicy {
  // Whether a program for another number of rows costs more than rows that nobody needs: a compilation for a
  // device takes seconds, a plan of this CPU less than the rows would.
  bool adds = false;
  // Whether one program runs on the parts of all replicas, which have equally many rows then.
  bool equal_parts = false;

  // Where so many are given, and steps before had `most`, or fewer.
  int64_t to_train(int64_t rows, int64_t most) const { return adds ? std::max(rows, most) : rows; }
  // Of numbers up to n there are log2(n) programs.
  int64_t to_predict(int64_t rows) const {
    return adds ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))) : rows;
  }
};

// What of values that change with every step of a run can be read without a wait.
struct ReadsPolicy {
  // Whether those of the last step can: else who reads one waits for all steps that were started, so values
  // are put aside every eighth step, and read two steps later.
  bool at_once = true;

  // Behind a step, counted from 1: whether values are put aside, whether all may be read that are shown, and
  // whether one may be looked at.
  bool puts_aside(int64_t step) const { return !at_once && step % 8 == 1; }
  bool shows(int64_t step) const { return step % 8 == (at_once ? 1 : 3); }
  bool looks(int64_t step) const { return at_once || shows(step); }
};

class Place {
 public:
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  virtual ~Place() = default;

  // Programs of places with one key are the same.
  const PlaceKey key;
  // Where variables stay that a program has read; null: here.
  Device* const device;

  // Of one graph, or of one for each replica: graphs of one function, for parts of a batch that may differ in
  // their numbers of rows.
  std::shared_ptr<const Program> compile(std::span<const PlacedGraph> graphs,
                                         RunEvents* events = nullptr) const;
  // What a replica has of a result of its own.
  virtual Tensor value_of(const Tensor& result, size_t) const { return result; }
  virtual RowsPolicy rows() const { return {}; }
  virtual ReadsPolicy reads() const { return {}; }
  // What is to be said of what went on there since the last call.
  virtual std::vector<std::string> take_notes() const { return {}; }

 protected:
  Place(const PlaceKey& key, Device* device) : key(key), device(device) {}

 private:
  virtual std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const = 0;
};

}  // namespace espalier
