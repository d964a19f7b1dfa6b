// Sources: the user's own data, cut into shards, with a place that an iterator can leave and find again.
//
//     struct Squares final : DataSource {  // 0, 1, 4, ..., each shard every count-th of them
//       explicit Squares(DataShard shard) : next_number(shard.index), step(shard.count) {}
//       std::optional<Tensors> next() override {
//         if (next_number >= 1000) return std::nullopt;
//         const int64_t number = std::exchange(next_number, next_number + step);
//         return Tensors{Tensor::scalar(number * number)};
//       }
//       std::optional<std::string> save() override { return std::to_string(next_number); }
//       void restore(std::string_view bytes) override { next_number = std::stoll(std::string(bytes)); }
//       int64_t next_number, step;
//     };
//     Dataset data = Dataset::from_source(
//         [](DataShard shard, uint64_t) { return std::make_unique<Squares>(shard); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/tensor_function.h"

namespace espalier {

// Shard `index` of the `count` shards that the elements of a source are cut into. Every element is in one of
// them.
struct DataShard {
  int64_t index = 0, count = 1;
  bool operator==(const DataShard&) const = default;
};

// One shard of the user's data, in one pass. Used by one thread at a time, not always the same one. A
// function may throw: errors of this library (error.h) reach the caller of DatasetIterator::next() as they
// are, with the line of from_source() before that of the call; any other std::exception becomes the cause
// (std::nested_exception) of an IoError[from_source.next], [.skip], [.save], [.restore] or [.open], which
// names the shard and the element.
class DataSource {
 public:
  virtual ~DataSource() = default;
  // The next element; nothing behind the last one, and then always.
  virtual std::optional<Tensors> next() = 0;
  // Passes over `count` >= 0 elements, or over as many as are left, and returns how many. By default: next().
  virtual int64_t skip(int64_t count);
  // The place of the next element, in bytes of the source's own, for restore() of a source that was just
  // opened for the same shard and pass, perhaps in another process. By default nothing: then the place is the
  // number of elements before it, and skip() finds it. Called where a state is saved; and behind prefetch()
  // and a parallel map() once for each element that they make, and before a shuffle() once for each 16th part
  // of its buffer: an offset, not a copy of the data. Must be possible behind the last element as well.
  virtual std::optional<std::string> save();
  // Goes to that place. Should raise an error for bytes that save() did not give. By default raises
  // StateError[from_source.restore].
  virtual void restore(std::string_view bytes);
};

// Opens a shard for a pass. `pass` is a number that differs between iterators and between the passes of
// repeat(), and is the same in every process that reads that pass: for the order of a source that shuffles
// itself. Called when the first element of the shard is asked for.
using OpenSource = std::function<std::unique_ptr<DataSource>(DataShard shard, uint64_t pass)>;

struct SourceOptions {
  // How many shards there are, from 1 to 65536. It decides the order of the elements, so that checkpoints
  // hold it and refuse another number. It limits how many processes can share the work, and costs each of
  // them next to nothing.
  int64_t shards = 8;
  // What all shards together give in every pass, if it is known: then an epoch of fit() has a length, and
  // repeat() passes over whole passes without opening them.
  std::optional<int64_t> elements = {};
};

// The shards that process `rank` of `ranks` reads: from rank * shards / ranks on, up to the first one of the
// next process. They are neighbours, so that what is summed over shards by a fixed tree is summed in one
// process as far as possible. Empty for some ranks when there are more of them than shards. Raises
// ValueError[owned_shards.shards], [.ranks] for less than 1, [.rank] outside of [0, ranks).
std::vector<int64_t> owned_shards(int64_t shards, int64_t rank, int64_t ranks,
                                  Location at = Location::here());

}  // namespace espalier
