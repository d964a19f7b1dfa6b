// Datasets: elements that are read, transformed and batched one after another, as tf.data has it.
//
//     Dataset data = Dataset::from_tensor_slices({x, y})
//                        .shuffle(10000)
//                        .map([](const Tensor& image, const Tensor& label) -> Tensors {
//                          return {convert(image, DType::kF32) / 255, label};
//                        })
//                        .batch(32)
//                        .prefetch(2);
//     for (const Tensors& batch : data) ...  // batch[0] is f32[32, ...], batch[1] the labels
//     model.fit(data, {.epochs = 5});
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/source.h"
#include "espalier/tensor_function.h"

namespace espalier {

class DatasetIterator;
class DatasetNode;
class DatasetRange;

// Gives one element after another, then nothing.
using ElementSource = std::function<std::optional<Tensors>()>;
// The arrays of a file, by its path; they have equal first axes, the rows.
using FileReader = std::function<Tensors(const std::string& path)>;
// The array of a .npy or IDX (*-ubyte) file or of a CSV of numbers without header, f32[rows, columns]; the
// latter two plain or .gz. Names and text are for read_csv (csv.h) and ColumnProgram (columns.h). Raises
// ValueError[read_rows.path], IoError, FormatError; [csv.exact] for a whole number that f32 would round.
Tensors read_rows(const std::string& path, Location at = Location::here());

struct MapOptions {
  // So many elements at a time are worked on by as many threads as a call takes (threads.h), but not by those
  // of calls. The order stays, and so do the results: also an error is raised where its element would come.
  int num_parallel_calls = 1;
};
struct BatchOptions {
  bool drop_remainder = false;  // the last elements, when they are fewer than a batch
};
struct PaddedBatchOptions {
  // What fills up each tensor of an element: numbers that their dtypes hold. Empty: zeros.
  std::vector<Operand> padding_values = {};
  bool drop_remainder = false;
};
struct FilesOptions {
  // File i belongs to shard i mod `shards`, and elements come from the shards in turn (as of from_source).
  // One file of each shard is in memory at a time. From 1 to 65536.
  int64_t shards = 1;
};
struct ShuffleOptions {
  // None: follows set_seed(), and the place of the shuffle among the steps, so that two of them, as in two
  // inputs of zip() or concatenate(), have two orders.
  std::optional<uint64_t> seed = {};
  bool reshuffle_each_iteration = true;
};

// A cheap, immutable handle on how elements are made; copies share. An element is a list of tensors. Nothing
// is read before an iterator asks. Every iterator starts anew, and the n-th one of two equal datasets gives
// the same elements in the same order, with the same bits, whatever the number of threads. Handles may be
// passed between threads; an iterator belongs to one thread at a time.
//
// Functions that are given to a dataset (of map, filter, generators, readers) give the same for the same
// argument and run on any thread; a random change of an element draws by its number (enumerate()) with the
// functions of ops.h that take a key and a step. What they throw reaches the caller of next(). Elements that
// they give without a tensor, or with one that holds nothing, raise ValueError[dataset.element].
class Dataset {
 public:
  static constexpr int64_t kInfinite = -1, kUnknown = -2;

  // Holds nothing; every use but assignment and defined() raises StateError[dataset.undefined].
  Dataset() = default;
  bool defined() const { return node_ != nullptr; }

  // The slices of the first axis. They share the memory of the tensors. Raises ShapeError
  // [from_tensor_slices.rows] without a tensor, for scalars, and for unequal first axes.
  static Dataset from_tensor_slices(const TensorList& tensors);
  // What the function that `make` gives returns until it returns nothing; each iterator makes one. Every time
  // the same elements, with as many tensors of the same dtypes and ranks as the first: raises ShapeError
  // [from_generator.signature], DTypeError[from_generator.signature], and ValueError[from_generator.function]
  // for an empty function.
  static Dataset from_generator(std::function<ElementSource()> make, Location at = Location::here());
  // The user's own data, by sources that know their place (source.h): an iterator goes on where it was saved
  // without reading what is before. Elements come from the shards in turn: the first of shard 0, of shard 1,
  // to the last shard, then the second of shard 0; a shard that has no more is left out from then on. So
  // element i of shard k comes before element j of shard m when i < j, or i == j and k < m, whoever reads the
  // shards; and as long as none has ended, row r of batch b of B rows is from shard (b * B + r) mod L.
  // Elements are as those of generators: raises ShapeError and DTypeError[from_source.signature]; what
  // DataSource says; ValueError[from_source.function] for an empty function or one that opens no source,
  // [from_source.shards] for another number than 1 to 65536, [from_source.elements] for less than 0 and where
  // a pass ends with another number of elements, [from_source.skip] for a skip() that returns more than it
  // was asked for.
  static Dataset from_source(OpenSource open, SourceOptions options = {}, Location at = Location::here());
  // The rows of one file after another; one is in memory at a time. A path that is no file is a pattern, with
  // *, ? and [a-z], for the paths it fits, sorted. Raises IoError[from_files.pattern] when it fits none,
  // ValueError[from_files.reader] for an empty function, [from_files.shards] for another number than 1 to
  // 65536; and, when the file is read, what the reader raises,
  // ShapeError[from_files.rows] unless its arrays have equal first axes, and ShapeError
  // [from_files.signature] unless its rows are as those of the first file.
  static Dataset from_files(
      const std::vector<std::string>& paths,
      FileReader reader = [](const std::string& path) { return read_rows(path, {}); },
      FilesOptions options = {}, Location at = Location::here());
  // One element of each, their tensors in one list, until one has no more. Raises ValueError[zip.datasets]
  // for none.
  static Dataset zip(const std::vector<Dataset>& datasets, Location at = Location::here());

  // `dataset`, as data that are this worker's own: of several workers (strategy.h) each names others, as
  // files of its own, and an element is its part of the global batch, of any number of rows. Steps may stand
  // before and behind it; on one worker it changes nothing. In Strategy::distribute, fit and evaluate a
  // global batch is the next element of each worker, the rows of worker 0 first; a worker behind its end has
  // no rows there, and all go on until the last one is at its end: no row is lost. A pass of fit begins when
  // all have ended theirs. Elements have rows of equal types on all workers: raises ShapeError[batch.shape]
  // else, and ValueError[strategy.data] where the data of some workers have no end, and those of others one.
  static Dataset per_worker(const Dataset& dataset, Location at = Location::here());

  // function(element), a list or one tensor. It takes a list, or as many tensors as elements have. Raises
  // ValueError[map.num_parallel_calls] for less than 1.
  Dataset map(TensorFunction function, MapOptions options = {}, Location at = Location::here()) const;
  // The elements for which predicate(element) is true. It takes what the function of map takes and gives a
  // bool, or a tensor bool[]: iterators raise ShapeError[filter.predicate] and DTypeError[filter.predicate]
  // for anything else. Where an endless dataset has no more of them, next() does not return.
  Dataset filter(TensorFunction predicate, Location at = Location::here()) const;
  // `size` elements as one, each tensor with a new first axis. Iterators raise ShapeError[batch.shape] and
  // DTypeError[batch.dtype] for elements that are not alike. Raises ValueError[batch.size] for less than 1.
  Dataset batch(int64_t size, BatchOptions options = {}, Location at = Location::here()) const;
  // The same for tensors of equal ranks: each axis is filled up at its end to the longest of the batch.
  // Raises, under padded_batch, what batch raises, and ValueError[padded_batch.padding_values] for another
  // number of them than of tensors, and what Operand::as raises for one that a dtype does not hold.
  Dataset padded_batch(int64_t size, PaddedBatchOptions options = {}, Location at = Location::here()) const;
  // Keeps `buffer_size` elements and gives any of them, with equal probability, then takes the next one in
  // its place: with at least as many as there are elements, each order is as likely as any other. Directly
  // behind from_tensor_slices it keeps their numbers, 8 bytes each. Of a source or files in several shards
  // each shard has a buffer of its own, of buffer_size / shards elements, rounded up, and its order follows
  // from the seed, the pass and the number of the shard; shards give their elements in turn as without
  // shuffle(). So the order is the same for any number of readers, and an element stays in its shard: rows
  // of one file never stand in the turns of another. Raises ValueError[shuffle.buffer_size] for less than 1.
  Dataset shuffle(int64_t buffer_size, ShuffleOptions options = {}, Location at = Location::here()) const;
  // The elements of one pass, kept: the first iterator that comes to the end of the dataset has filled the
  // cache, in memory or in files of a folder, and those that begin later read it and nothing before it, as
  // tf.data has it. What varies from pass to pass, as shuffle(), belongs behind cache(): it keeps one of its
  // orders, that of pass 0, whoever comes first. Of a source or files in several shards each shard is kept by
  // itself, by who reads it. An iterator that is restored reads what is before its place where that is not
  // kept yet. A folder serves any number of programs and processes; it is of this dataset: of these steps,
  // numbers, seeds, rows in memory, and names, sizes and times of files. What functions, generators and
  // sources of your own give is not looked at: name another folder when they change. Raises
  // ValueError[cache.dataset] for a dataset without end, and, when an iterator begins, for a folder of
  // another dataset, FormatError[cache.damaged] for files that were changed or cut; both name the file. A
  // pass that did not come to its end leaves files that the next one writes anew.
  Dataset cache(const std::string& folder = "", Location at = Location::here()) const;
  // All elements `count` times; kInfinite: again and again, until a pass has none. Raises
  // ValueError[repeat.count] for less.
  Dataset repeat(int64_t count = kInfinite, Location at = Location::here()) const;
  // Up to `count` elements are made by a thread of their own while the caller works; ops run on it alone, so
  // that the caller's have all others: map() shares out elements (num_parallel_calls). An error is raised
  // where its element would come. An iterator that is dropped waits for the element that is being made.
  // Raises ValueError[prefetch.count] for less than 1.
  Dataset prefetch(int64_t count, Location at = Location::here()) const;
  // At most the first `count` elements, and those behind them. Raise ValueError[take.count], [skip.count] for
  // less than 0.
  Dataset take(int64_t count, Location at = Location::here()) const;
  Dataset skip(int64_t count, Location at = Location::here()) const;
  // Every `count`-th element, from number `index` on. Raises ValueError[shard.count] for less than 1 and
  // ValueError[shard.index] outside of [0, count).
  Dataset shard(int64_t count, int64_t index, Location at = Location::here()) const;
  // The elements of the shards `owned` of `count`, in the order that they have among all; the others are not
  // read. Readers whose shards are all of `count`, each once (owned_shards()), together give each element
  // once. Row i of from_tensor_slices belongs to shard i mod `count`; from_source and from_files have their
  // shards, and shuffle() and cache() of them keep these. map(), prefetch() and repeat() may stand behind
  // these; raises ValueError[read_shards.dataset] for steps that mix the elements of shards,
  // [read_shards.count] for another number than the source has, or less than 1, [read_shards.owned] for a
  // shard outside of [0, count) and for one that is named twice.
  Dataset read_shards(int64_t count, const std::vector<int64_t>& owned, Location at = Location::here()) const;
  // The elements of this one, then those of `next`.
  Dataset concatenate(const Dataset& next, Location at = Location::here()) const;
  // Elements with their number, i64[], before their tensors.
  Dataset enumerate(int64_t start = 0, Location at = Location::here()) const;

  // The number of elements of an iterator, kInfinite or kUnknown (generators, files, what filter() leaves of
  // a dataset with an end). What is repeated without end counts as infinite unless it is known to be empty.
  int64_t cardinality(Location at = Location::here()) const;
  // A new iterator, by the number of those that this handle and its copies have given before.
  DatasetRange begin(Location at = Location::here()) const;
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class DatasetIterator;
  friend class DatasetNode;
  friend std::string to_string(const Dataset& dataset, Location at);
  explicit Dataset(std::shared_ptr<const DatasetNode> node) : node_(std::move(node)) {}
  const std::shared_ptr<const DatasetNode>& node() const;
  template <class Node, class... Arguments>
  static Dataset make(Arguments&&... arguments);
  std::shared_ptr<const DatasetNode> node_;
};
// "from_tensor_slices(100 rows of f32[3], i32[]).shuffle(100).batch(32).prefetch()": what decides the
// elements, so that of prefetch() and map() no numbers are named.
std::string to_string(const Dataset& dataset, Location at = Location::here());

// Where an iterator goes on reading a shard: behind so many of its elements.
struct ShardState {
  int64_t shard = 0;
  int64_t elements = 0;
  std::optional<std::string> bytes = {};  // of DataSource::save()
  std::vector<int64_t> steps = {};        // of steps that work shard by shard, as shuffle()
  bool operator==(const ShardState&) const = default;
};
struct SourceState {
  int64_t shards = 0;                  // the L that they are of
  std::vector<ShardState> owned = {};  // those that the iterator reads, in order
  bool operator==(const SourceState&) const = default;
};

// Where an iterator is. The first three say it all; where sources or files are among its steps, the next two
// let it go on there without reading what is before; the last one says of which dataset it is.
struct DatasetState {
  uint64_t seed = 0;       // of shuffles that were given none
  uint64_t iteration = 0;  // the number of the iterator
  int64_t elements = 0;    // that the caller has seen, whatever was fetched ahead
  std::vector<int64_t> steps = {};
  std::vector<SourceState> sources = {};
  // Of the steps with their numbers, the number and types of rows in memory and the seeds of shuffles; 0 is
  // not known, as in states that an earlier version saved, and fits any dataset.
  uint64_t layout = 0;
  bool operator==(const DatasetState&) const = default;
};

// Goes over the elements of a dataset once. Movable. Where next() has raised an error it raises it again.
class DatasetIterator {
 public:
  // Number `iteration` decides the orders of shuffles that reshuffle; without one it is as begin() says.
  explicit DatasetIterator(const Dataset& dataset, Location at = Location::here());
  DatasetIterator(const Dataset& dataset, uint64_t iteration, Location at = Location::here());
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;
  ~DatasetIterator();

  // Nothing at the end.
  std::optional<Tensors> next(Location at = Location::here());
  // Raises what DataSource::save() raises.
  DatasetState save(Location at = Location::here()) const;
  // Goes on where an iterator of an equal dataset was saved. Sources and files are opened at their place;
  // behind a shuffle, at that of the oldest element that waits in its buffer. Rows in memory and whole passes
  // of repeat() are jumped over, map() does not compute what is passed. Generators are gone through up to
  // there, and so is everything for a state that holds only the first three numbers, as it was saved before
  // there were sources. A state of another reader's shards will do if it has those of this one. Raises
  // ValueError[dataset.restore] when there are fewer elements, for a state of another dataset, that is, of
  // other steps, numbers or seeds (DatasetState::layout; prefetch() and what functions do are not looked at),
  // and of a source that is cut into another number of shards; and what sources raise. Then the iterator
  // stays where it was.
  void restore(const DatasetState& state, Location at = Location::here());

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// What a range-based for walks over.
class DatasetRange {
 public:
  using value_type = Tensors;
  using difference_type = std::ptrdiff_t;

  const Tensors& operator*() const { return *element_; }
  DatasetRange& operator++() {
    element_ = iterator_->next(at_);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !element_; }

 private:
  friend class Dataset;
  DatasetRange(DatasetIterator iterator, Location at)
      : iterator_(std::make_shared<DatasetIterator>(std::move(iterator))),
        at_(at),
        element_(iterator_->next(at)) {}
  std::shared_ptr<DatasetIterator> iterator_;
  Location at_;  // of the loop
  std::optional<Tensors> element_;
};

}  // namespace espalier
