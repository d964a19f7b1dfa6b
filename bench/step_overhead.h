// Meters what the ranks of a run say to each other besides gradients.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "comm/board_layout.h"
#include "comm/shm.h"

// Of one step. What ranks wait for each other is no part of it: without the header they would wait in the
// next collective.
struct Overhead {
  double header_us = 0;            // the header's all_gather, and others that are no gradients
  double votes = 0, votes_us = 0;  // Communicator::any()
  double recorder_us = 0;  // begins of the gradients' collectives: fingerprints, and the ring of the last
  double stages = 0, stages_us = 0;  // what heartbeats tell
  double all_us() const { return header_us + votes_us + recorder_us + stages_us; }
};

// Passes all on. Between begin() and end() a barrier stands before each header and vote, so that the time of
// these is that of ranks which come together.
class MeteredCommunicator : public espalier::Communicator {
 public:
  explicit MeteredCommunicator(std::shared_ptr<espalier::Communicator> ranks)
      : ranks_(std::move(ranks)), pool_(1) {}

  int rank() const override { return ranks_->rank(); }
  int world() const override { return ranks_->world(); }
  std::shared_ptr<std::byte[]> allocate(size_t bytes) override { return ranks_->allocate(bytes); }
  void abort(std::string_view why) override { ranks_->abort(why); }

  uint32_t any(uint32_t bits) override {
    if (!meters_) return ranks_->any(bits);
    meet();
    const int64_t begin = espalier::monotonic_ns();
    const uint32_t all = ranks_->any(bits);
    votes_.push_back(espalier::monotonic_ns() - begin);
    return all;
  }
  uint64_t start(const espalier::Collective& what, std::byte* data, std::byte* out) override {
    if (!meters_) return ranks_->start(what, data, out);
    header_ = what.kind == espalier::Collective::Kind::kAllGather;
    if (header_) meet();
    begin_ = espalier::monotonic_ns();
    const uint64_t ticket = ranks_->start(what, data, out);
    if (!header_) begins_.push_back(espalier::monotonic_ns() - begin_);
    return ticket;
  }
  void done(uint64_t ticket, espalier::ThreadPool& pool) override {
    ranks_->done(ticket, pool);
    if (meters_ && header_) headers_.push_back(espalier::monotonic_ns() - begin_);
  }
  void stage(espalier::Stage stage, int64_t number) override {
    ranks_->stage(stage, number);
    stages_ += meters_;
    steps_ += meters_ && stage == espalier::Stage::kCallback;
  }

  void begin() { meters_ = true; }
  Overhead end() {
    meters_ = false;
    constexpr int kCalls = 100'000;
    const int64_t begin = espalier::monotonic_ns();
    for (int i = 0; i < kCalls; ++i) ranks_->stage(espalier::Stage::kCallback, i);
    const double stage_us = static_cast<double>(espalier::monotonic_ns() - begin) / kCalls / 1e3;
    const double steps = static_cast<double>(std::max<int64_t>(steps_, 1));
    Overhead out{.header_us = sum_of(headers_) / steps,
                 .votes = static_cast<double>(votes_.size()) / steps,
                 .votes_us = sum_of(votes_) / steps,
                 .recorder_us = sum_of(begins_) / steps,
                 .stages = static_cast<double>(stages_) / steps};
    out.stages_us = out.stages * stage_us;
    return out;
  }

 private:
  void meet() {
    const espalier::Collective barrier{espalier::Collective::Kind::kBarrier, "meet", "", 1, 0, nullptr, 0};
    run_collective(*ranks_, barrier, nullptr, nullptr, pool_);
  }
  // As many times the median, in microseconds: a rank that the system put aside meanwhile counts as others.
  static double sum_of(std::vector<int64_t>& times) {
    if (times.empty()) return 0;
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return static_cast<double>(*middle) * static_cast<double>(times.size()) / 1e3;
  }

  const std::shared_ptr<espalier::Communicator> ranks_;
  espalier::ThreadPool pool_;
  bool meters_ = false, header_ = false;
  int64_t begin_ = 0, stages_ = 0, steps_ = 0;
  std::vector<int64_t> headers_, votes_, begins_;
};

// Calls body on each of so many ranks, in processes of their own; whether it gave true on all.
template <class Body>
bool on_forked_ranks(int world, const Body& body) {
  espalier::SharedSegments segments = espalier::make_shared_segments(world);
  for (int rank = 0; rank < world; ++rank) {
    if (::fork() != 0) continue;
    bool good = false;
    try {
      MeteredCommunicator ranks(espalier::shm_communicator(segments, rank, world));
      espalier::close_segments(segments);
      good = body(ranks);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
    std::fflush(stdout);
    ::_exit(good ? 0 : 1);
  }
  espalier::close_segments(segments);
  bool good = true;
  for (int rank = 0; rank < world; ++rank) {
    int status = 1;
    ::wait(&status);
    good = good && status == 0;
  }
  return good;
}
