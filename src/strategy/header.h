// Many small values of a step in one message to all replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/observe.h"

namespace espalier {

// Under a trace: values are added, exchanged by one all_gather of 32-bit words, and combined.
class Header {
 public:
  // kSum: where parts meet in sums alone, as logical shards do, each adds its words to the zeros of others.
  enum class By : uint8_t { kGather, kSum };
  explicit Header(int world, By by = By::kGather) : world_(world), by_(by) {}
  void add(const std::string& name, const Tensor& value, Combination combination);
  void exchange();
  // The sum over replicas. REQUIRES: added as kSum, and exchanged.
  Tensor combined(const std::string& name) const;
  // Increments of these names, combined as `how` says, in the order of ranks.
  std::vector<Tensor> combined(const Observation& how, const std::vector<std::string>& names) const;

 private:
  struct Part {
    std::string name;
    TensorType type;
    Tensor words;  // i32[n]
    bool summed;   // f32, and combined by their sums
    int64_t first = 0;
  };
  const Part& part(const std::string& name) const;
  // What each rank, or one, gave: [world, ...] or [...].
  Tensor of_all(const Part& part) const;
  Tensor of(const Part& part, int rank) const;

  int world_;
  By by_;
  std::vector<Part> parts_;
  Tensor all_;   // i32[world, words]
  Tensor sums_;  // f32[n], of those that are summed
};

}  // namespace espalier
