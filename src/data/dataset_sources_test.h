// Sources for tests, and the order that their elements have by the formula.
#pragma once

#include <atomic>
#include <charconv>
#include <memory>
#include <numeric>

#include "base/format.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/dataset.h"

namespace espalier {

// How a source finds its place again: by next(), by skip() in one jump, or by bytes alone.
enum class Finds { kByNext, kBySkip, kByBytes };

// What sources were asked to do, by whatever thread.
struct SourceCalls {
  std::atomic<int64_t> opened{0}, elements{0}, jumps{0}, saved{0}, restored{0};
  void reset() { opened = elements = jumps = saved = restored = 0; }
};

// Shard k gives x[2] and y of numbers 1000 * k, 1000 * k + 1, ... so many.
class NumberedSource final : public DataSource {
 public:
  NumberedSource(int64_t shard, int64_t size, Finds finds, std::shared_ptr<SourceCalls> calls)
      : shard_(shard), size_(size), finds_(finds), calls_(std::move(calls)) {
    ++calls_->opened;
  }
  static int32_t value(int64_t shard, int64_t number) { return static_cast<int32_t>(1000 * shard + number); }

  std::optional<Tensors> next() override {
    if (now_ == size_) return std::nullopt;
    ++calls_->elements;
    const int32_t x = value(shard_, now_++);
    return Tensors{Tensor::of<int32_t>({x, -x}), Tensor::scalar(x)};
  }
  int64_t skip(int64_t count) override {
    if (finds_ != Finds::kBySkip) return DataSource::skip(count);
    ++calls_->jumps;
    const int64_t skipped = std::min(count, size_ - now_);
    now_ += skipped;
    return skipped;
  }
  std::optional<std::string> save() override {
    ++calls_->saved;
    if (finds_ != Finds::kByBytes) return std::nullopt;
    return cat("at ", now_);
  }
  void restore(std::string_view bytes) override {
    ++calls_->restored;
    int64_t place = -1;
    if (bytes.starts_with("at ")) std::from_chars(bytes.data() + 3, bytes.data() + bytes.size(), place);
    if (place < 0 || place > size_) throw FormatError("numbered.place", cat("\"", bytes, "\" is no place"));
    now_ = place;
  }

 private:
  int64_t shard_, size_;
  Finds finds_;
  std::shared_ptr<SourceCalls> calls_;
  int64_t now_ = 0;
};

struct NumberedShards {
  std::vector<int64_t> sizes;  // of each shard
  Finds finds = Finds::kByNext;
  std::shared_ptr<SourceCalls> calls = std::make_shared<SourceCalls>();

  Dataset dataset() const {
    return Dataset::from_source(
        [*this](DataShard shard, uint64_t) {
          return std::make_unique<NumberedSource>(shard.index, sizes[static_cast<size_t>(shard.index)], finds,
                                                  calls);
        },
        {.shards = static_cast<int64_t>(sizes.size())});
  }
  // Element i of shard k is before element j of shard m when i < j, or i == j and k < m.
  PlainElements expected(const std::vector<int64_t>& owned) const {
    PlainElements out;
    for (int64_t i = 0; i < 1000; ++i) {
      for (int64_t k = 0; k < static_cast<int64_t>(sizes.size()); ++k) {
        if (i >= sizes[static_cast<size_t>(k)]) continue;
        if (std::find(owned.begin(), owned.end(), k) == owned.end()) continue;
        const auto x = static_cast<int32_t>(1000 * k + i);
        out.push_back({{{2}, {x, -x}}, {{}, {x}}});
      }
    }
    return out;
  }
  std::vector<int64_t> all_shards() const {
    std::vector<int64_t> out(sizes.size());
    std::iota(out.begin(), out.end(), int64_t{0});
    return out;
  }
  PlainElements expected() const { return expected(all_shards()); }
  int64_t elements() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }
};

inline constexpr Finds kAllFinds[] = {Finds::kByNext, Finds::kBySkip, Finds::kByBytes};

inline NumberedShards random_shards(Philox& random, Finds finds, int64_t most_shards = 9,
                                    uint64_t most_size = 12) {
  NumberedShards out{std::vector<int64_t>(1 + random.below(static_cast<uint64_t>(most_shards))), finds};
  for (int64_t& size : out.sizes) size = static_cast<int64_t>(random.below(most_size));
  return out;
}

// The first number of an element, from which its shard and its number there follow.
inline int32_t label(const PlainElement& element) { return element.back().values[0]; }

}  // namespace espalier
