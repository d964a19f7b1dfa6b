#include "data/element_store.h"

#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "base/env.h"
#include "base/shortened.h"
#include "format/safetensors.h"
#include "format/tfrecord.h"
#include "ir/sink.h"

namespace espalier {
namespace {

using Elements = std::vector<Tensors>;

class InMemory final : public ElementStore {
 public:
  std::unique_ptr<StoredElements> find(const StoredShard& shard) override {
    const std::lock_guard hold(mutex_);
    const auto found = stored_.find(shard);
    return found == stored_.end() ? nullptr : std::make_unique<Read>(found->second);
  }
  std::unique_ptr<ElementsToStore> fill(const StoredShard& shard) override {
    return std::make_unique<Filled>(*this, shard);
  }

 private:
  struct Read final : StoredElements {
    explicit Read(std::shared_ptr<const Elements> stored) : elements(std::move(stored)) {}
    int64_t size() const override { return std::ssize(*elements); }
    Tensors at(int64_t number) override { return (*elements)[static_cast<size_t>(number)]; }
    const std::shared_ptr<const Elements> elements;
  };
  struct Filled final : ElementsToStore {
    Filled(InMemory& in, const StoredShard& of) : store(in), shard(of) {}
    void add(const Tensors& element) override { elements.push_back(element); }
    void end() override {
      const std::lock_guard hold(store.mutex_);
      store.stored_.emplace(shard, std::make_shared<const Elements>(std::move(elements)));
    }
    InMemory& store;
    const StoredShard shard;
    Elements elements;
  };

  std::mutex mutex_;
  std::map<StoredShard, std::shared_ptr<const Elements>> stored_;
};

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& why) {
  throw FormatError("cache.damaged", cat(path, " is not as cache() wrote it: ", why),
                    "remove the folder, and it is filled again");
}

// Calls `read` of a file, and says of which one it was where that is damaged.
template <class F>
auto read_stored(const std::string& path, F&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const FormatError& error) {
    refuse_damaged(path, error.message());
  }
}

std::string bytes_of(const Tensors& element) {
  SafeTensors arrays;
  for (size_t i = 0; i < element.size(); ++i) arrays.arrays.push_back({cat(i), element[i].node()->dense()});
  return safetensors_bytes(arrays);
}

Tensors element_of(std::string_view bytes, const std::string& path) {
  const SafeTensors arrays = parse_safetensors(std::as_bytes(std::span(bytes)));
  Tensors out;
  for (size_t i = 0; i < arrays.arrays.size(); ++i) {
    const Literal* const array = arrays.find(cat(i));
    if (!array) refuse_damaged(path, cat("an element has no tensor ", i));
    out.push_back(make_concrete(*array));
  }
  return out;
}

struct Part {
  int64_t elements = 0;
  uint64_t hash = 0;  // of its bytes
};

constexpr const char* kCacheFormat = "espalier cache 1";

class InFolder final : public ElementStore {
 public:
  InFolder(std::string folder, DatasetNodePtr dataset)
      : folder_(std::move(folder)), dataset_(std::move(dataset)) {}

  std::unique_ptr<StoredElements> find(const StoredShard& shard) override {
    const std::string path = cat(name(shard), ".safetensors");
    if (!posix_env().exists(path)) return nullptr;
    const SafeTensors index = read_stored(path, [&] { return read_safetensors(path); });
    const auto said = [&](const char* what) {
      const auto found = index.metadata.find(what);
      if (found == index.metadata.end()) refuse_damaged(path, cat("it does not say its ", what));
      return found->second;
    };
    if (said("format") != kCacheFormat) refuse_damaged(path, cat("its format is ", said("format")));
    if (said("contents") != contents(shard))
      throw ValueError(
          "cache.dataset",
          cat(path, " holds elements of ",
              said("dataset") == dataset_->text()
                  ? cat("other rows, files, numbers or seeds of ", shortened(dataset_->text()))
                  : cat(shortened(said("dataset")), ", and here is ", shortened(dataset_->text()))),
          "name another folder, or remove it and it is filled again");
    if (!index.unread.empty()) refuse_damaged(path, "it does not list its parts");
    const Literal *const elements = index.find("elements"), *const hashes = index.find("hashes");
    if (!elements || !hashes || elements->type() != hashes_type(elements->type().elements(), DType::kI64) ||
        hashes->type() != hashes_type(elements->type().elements(), DType::kU64))
      refuse_damaged(path, "it does not list its parts");
    std::vector<Part> parts(static_cast<size_t>(elements->type().elements()));
    int64_t all = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = {reinterpret_cast<const int64_t*>(elements->raw())[i],
                  reinterpret_cast<const uint64_t*>(hashes->raw())[i]};
      if (parts[i].elements < 1) refuse_damaged(path, cat("part ", i, " has no elements"));
      all = saturating_sum(all, parts[i].elements);
    }
    if (cat(all) != said("size"))
      refuse_damaged(path, cat("its parts have ", all, " elements, and it says ", said("size")));
    return std::make_unique<Read>(name(shard), std::move(parts), all);
  }

  std::unique_ptr<ElementsToStore> fill(const StoredShard& shard) override {
    posix_env().make_folder(folder_);
    return std::make_unique<Filled>(*this, shard);
  }

 private:
  static TensorType hashes_type(size_t count, DType dtype) { return {dtype, {static_cast<int64_t>(count)}}; }
  static TensorType hashes_type(int64_t count, DType dtype) { return {dtype, {count}}; }
  static std::string part_path(const std::string& name, size_t part) {
    return cat(name, "-part-", part, ".tfrecord");
  }
  std::string name(const StoredShard& shard) const {
    return cat(folder_, "/shard-", shard.index, "-of-", shard.count);
  }
  // What elements follow from, as far as it can be known.
  std::string contents(const StoredShard& shard) {
    const std::lock_guard hold(mutex_);
    if (!contents_) contents_ = hash_combine(dataset_->layout(), dataset_->contents());
    return cat(hash_combine(*contents_, shard.seed));
  }

  // A part at a time is in memory.
  class Read final : public StoredElements {
   public:
    Read(std::string name, std::vector<Part> parts, int64_t size)
        : name_(std::move(name)), parts_(std::move(parts)), size_(size) {}
    int64_t size() const override { return size_; }
    Tensors at(int64_t number) override {
      if (number < first_ || number >= first_ + std::ssize(records_)) load(number);
      return read_stored(path_,
                         [&] { return element_of(records_[static_cast<size_t>(number - first_)], path_); });
    }

   private:
    void load(int64_t number) {
      size_t part = 0;
      first_ = 0;
      while (number >= first_ + parts_[part].elements) first_ += parts_[part++].elements;
      path_ = part_path(name_, part);
      records_.clear();
      if (!posix_env().exists(path_)) refuse_damaged(path_, "it is not there");
      bytes_ = posix_env().read_file(path_);
      if (hash_text(bytes_) != parts_[part].hash)
        refuse_damaged(path_, cat("its ", bytes_.size(), " bytes are others"));
      records_ = read_stored(path_, [&] { return parse_records(bytes_); });
      if (std::ssize(records_) != parts_[part].elements)
        refuse_damaged(path_, cat("it has ", records_.size(), " elements, not ", parts_[part].elements));
    }

    const std::string name_;
    const std::vector<Part> parts_;
    const int64_t size_;
    std::string path_, bytes_;
    std::vector<std::string_view> records_;
    int64_t first_ = 0;  // of them
  };

  class Filled final : public ElementsToStore {
   public:
    Filled(InFolder& store, const StoredShard& shard) : store_(store), shard_(shard) {}
    void add(const Tensors& element) override {
      bytes_ += record_bytes(bytes_of(element));
      ++elements_;
      if (bytes_.size() >= kPartBytes) write_part();
    }
    void end() override {
      if (elements_ > 0) write_part();
      const auto count = static_cast<int64_t>(parts_.size());
      std::vector<int64_t> elements;
      std::vector<uint64_t> hashes;
      for (const Part& part : parts_) {
        elements.push_back(part.elements);
        hashes.push_back(part.hash);
      }
      const int64_t all = std::accumulate(elements.begin(), elements.end(), int64_t{0});
      const auto listed = [&](DType dtype, const void* from) {
        const TensorType type = hashes_type(count, dtype);
        const Buffer buffer = allocate_buffer(type.bytes());
        if (count > 0) std::memcpy(buffer.get(), from, type.bytes());
        return Literal(type, buffer);
      };
      const SafeTensors index{.arrays = {{"elements", listed(DType::kI64, elements.data())},
                                         {"hashes", listed(DType::kU64, hashes.data())}},
                              .metadata = {{"format", kCacheFormat},
                                           {"contents", store_.contents(shard_)},
                                           {"dataset", store_.dataset_->text()},
                                           {"size", cat(all)}}};
      posix_env().write_file(cat(store_.name(shard_), ".safetensors"), safetensors_bytes(index));
    }

   private:
    void write_part() {
      parts_.push_back({std::exchange(elements_, 0), hash_text(bytes_)});
      posix_env().write_file(part_path(store_.name(shard_), parts_.size() - 1), bytes_);
      bytes_.clear();
    }

    InFolder& store_;
    const StoredShard shard_;
    std::vector<Part> parts_;
    std::string bytes_;  // of the part that is open
    int64_t elements_ = 0;
  };

  const std::string folder_;
  const DatasetNodePtr dataset_;
  std::mutex mutex_;
  std::optional<uint64_t> contents_;
};

}  // namespace

std::shared_ptr<ElementStore> store_in_memory() { return std::make_shared<InMemory>(); }

std::shared_ptr<ElementStore> store_in_folder(std::string folder, DatasetNodePtr dataset) {
  return std::make_shared<InFolder>(std::move(folder), std::move(dataset));
}

}  // namespace espalier
