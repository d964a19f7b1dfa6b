#include "ir/device.h"

#include <atomic>

namespace espalier {
namespace {

std::atomic<MatmulPrecision> precision_of_products = MatmulPrecision::kHighest;

}  // namespace

MatmulPrecision matmul_precision() { return precision_of_products; }
void set_matmul_precision(MatmulPrecision precision) { precision_of_products = precision; }

void Device::note(std::string text) {
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  notes_.push_back(std::move(text));
  has_notes_ = true;
}

std::vector<std::string> Device::take_notes() {
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  has_notes_ = false;
  return std::exchange(notes_, {});
}

}  // namespace espalier
