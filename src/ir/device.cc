#include "ir/device.h"

#include <atomic>
#include <iterator>

#include "base/told.h"
#include "espalier/run_context.h"

namespace espalier {
namespace {

std::atomic<MatmulPrecision> precision_of_products = MatmulPrecision::kHighest;
std::atomic<uint64_t> places{0};

}  // namespace

MatmulPrecision matmul_precision() { return precision_of_products; }
void set_matmul_precision(MatmulPrecision precision) { precision_of_products = precision; }

// A transfer is of whoever asks for it on this thread, as one who reads a tensor does.
Literal RemoteArray::download(size_t replica) const {
  const Told told(RunContext::current().events,
                  {Activity::Kind::kDownload, device().replica_name(replica), type().bytes()});
  return copy_of(replica);
}

RemoteArrayPtr Device::upload(const Literal& value) {
  const std::vector<Literal> each(replicas(), value.expanded());
  return upload_each(each);
}

RemoteArrayPtr Device::upload_each(std::span<const Literal> values) {
  const Told told(RunContext::current().events,
                  {Activity::Kind::kUpload, name(), values.size() * values[0].type().bytes()});
  return keep(values);
}

uint64_t new_place_number() { return ++places; }

std::shared_ptr<SingleOps::Program> SingleOps::find(const GraphPtr& graph, uint64_t hash) {
  std::list<Kept> dropped;  // ends behind the lock
  const std::lock_guard hold(mutex_);
  const auto known = by_hash_.find(hash);
  if (known != by_hash_.end()) {
    kept_.splice(kept_.begin(), kept_, known->second);
    if (*kept_.front().graph != *graph) kept_.front() = {hash, graph, std::make_shared<Program>()};
    return kept_.front().program;
  }
  kept_.push_front({hash, graph, std::make_shared<Program>()});
  by_hash_[hash] = kept_.begin();
  if (kept_.size() > kMost) {
    by_hash_.erase(kept_.back().hash);
    dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
  }
  return kept_.front().program;
}

size_t SingleOps::kept() const {
  const std::lock_guard hold(mutex_);
  return kept_.size();
}

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
