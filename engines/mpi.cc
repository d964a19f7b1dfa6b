// The engine `mpi`: messages by MPI, which is started and ended on the thread of the wire. MPI moves messages
// inside of its calls only: all of them go on while any is waited for, and none does between calls.
// Of C alone.
#define MPICH_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/wire.h"
#include "comm/wire_module.h"

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;

// Who waits looks at first without a pause, then lets others run, then sleeps for longer and longer: who lets
// others run waits for a whole slice of theirs where they compute, who sleeps is soon back.
constexpr int kSpins = 200, kYields = 100;
constexpr int64_t kFirstSleep = 1'000, kLongestSleep = 100'000;  // nanoseconds
// MPI counts in int; longer messages are several.
constexpr size_t kMostBytes = size_t{1} << 30;

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(text, static_cast<size_t>(length)));
}

class MpiWire : public Wire {
 public:
  explicit MpiWire(const WireOptions& options) : options_(options) {
    int begun = 0, ended = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (ended) throw std::runtime_error("MPI starts once in a process, and has ended");
#ifdef OPEN_MPI
    // It would end the process.
    if (!begun && options.world > 1 && std::getenv("SLURM_PROCID") && !std::getenv("PMIX_RANK"))
      throw std::runtime_error(
          "Slurm has started this rank without PMIx, which Open MPI needs: use srun --mpi=pmix");
#endif
    check(begun ? MPI_Query_thread(&level) : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level));
    is_ours_ = !begun;
    ::prctl(PR_SET_TIMERSLACK, kFirstSleep);  // else each sleep of this thread is 50 us longer
    if (level < MPI_THREAD_MULTIPLE) throw std::runtime_error("this MPI is not for several threads");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    compare_place();
    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_));
    check(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN));
    int* last = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(ranks_, MPI_TAG_UB, &last, &found));
    if (found) tags_ = static_cast<uint64_t>(*last) + 1;
  }
  // MPI ends when all ranks say so, which they do not where something is unfinished.
  ~MpiWire() override {
    if (broken_ || aborted_) return;
    // What nobody has sent will not come.
    for (Started& message : messages_) {
      if (message.is_send && !message.parts.empty()) return;
      for (MPI_Request& part : message.parts) {
        MPI_Cancel(&part);
        MPI_Wait(&part, MPI_STATUS_IGNORE);
      }
    }
    MPI_Comm_free(&ranks_);
    if (is_ours_) MPI_Finalize();
  }

  int rank() const override { return options_.rank; }
  int world() const override { return options_.world; }
  std::string name() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<size_t>(length));
    return "mpi (" + all.substr(0, all.find_first_of(",\n")) + ")";
  }

  int send(const Message& message) override { return begin(message, true); }
  int receive(const Message& message) override { return begin(message, false); }

  State wait(int handle) override {
    Started& message = messages_[static_cast<size_t>(handle)];
    if (!broken_ && !finish(message)) return State::kWoken;
    message.parts.clear();
    free_.push_back(handle);
    return broken_ ? State::kBroken : State::kDone;
  }

  void wake() override { woken_ = true; }
  void abort() override { aborted_ = true; }
  std::string why() const override { return why_; }

 private:
  struct Started {
    std::vector<MPI_Request> parts;
    int peer = 0;
    bool is_send = false;
  };

  void compare_place() const {
    int rank = 0, world = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &world));
    if (rank == options_.rank && world == options_.world) return;
    const auto place = [](int r, int w) { return "rank " + std::to_string(r) + " of " + std::to_string(w); };
    std::string text = "MPI says that this is " + place(rank, world) + ", and the run that it is " +
                       place(options_.rank, options_.world);
    if (world == 1)
      text += std::getenv("SLURM_JOB_ID") ? ": Slurm tells MPI who is there by `srun --mpi=pmix`"
                                          : ": MPI learns from mpirun who is there";
    throw std::runtime_error(text);
  }

  // Tags that are on their way at once differ by less than MPI has of them (2^31 in Open MPI), so what is
  // left of them tells them apart; parts of one message come in order.
  int begin(const Message& message, bool is_send) {
    if (broken_) return -1;
    if (free_.empty()) {
      free_.push_back(static_cast<int>(messages_.size()));
      messages_.emplace_back();
    }
    const int handle = free_.back();
    Started& started = messages_[static_cast<size_t>(handle)];
    started.peer = message.peer;
    started.is_send = is_send;
    const int tag = static_cast<int>(message.tag % tags_);
    try {
      for (size_t at = 0; at < message.bytes; at += kMostBytes) {
        const int count = static_cast<int>(std::min(kMostBytes, message.bytes - at));
        std::byte* data = message.data + at;
        MPI_Request& part = started.parts.emplace_back(MPI_REQUEST_NULL);
        check(is_send ? MPI_Isend(data, count, MPI_BYTE, message.peer, tag, ranks_, &part)
                      : MPI_Irecv(data, count, MPI_BYTE, message.peer, tag, ranks_, &part));
      }
    } catch (const std::exception& error) {
      fail(error.what(), message.peer);
      return -1;
    }
    free_.pop_back();
    return handle;
  }

  // False where wake() was called.
  bool finish(Started& message) {
    int64_t sleep = kFirstSleep;
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(options_.timeout));
    for (int look = 0;; ++look) {
      if (aborted_) return fail("it was told to end", message.peer);
      int done = 0;
      const int code = MPI_Testall(static_cast<int>(message.parts.size()), message.parts.data(), &done,
                                   MPI_STATUSES_IGNORE);
      try {
        check(code);
      } catch (const std::exception& error) {
        return fail(error.what(), message.peer);
      }
      if (done) return true;
      if (woken_.exchange(false)) return false;
      if (look < kSpins) continue;
      if (look < kSpins + kYields) {
        ::sched_yield();
        continue;
      }
      if (Clock::now() > end)
        return fail("nothing in " + std::to_string(static_cast<int64_t>(options_.timeout)) + " s",
                    message.peer);
      const timespec pause{0, sleep};
      ::nanosleep(&pause, nullptr);
      sleep = std::min(2 * sleep, kLongestSleep);
    }
  }

  bool fail(const std::string& why, int peer) {
    if (!std::exchange(broken_, true)) why_ = "rank " + std::to_string(peer) + ": " + why;
    return true;
  }

  const WireOptions options_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  bool is_ours_ = false;
  uint64_t tags_ = 32768;          // what every MPI has
  std::vector<Started> messages_;  // by handle
  std::vector<int> free_;          // handles
  bool broken_ = false;
  std::string why_;
  std::atomic<bool> woken_{false}, aborted_{false};
};

std::unique_ptr<Wire> make_mpi(const WireOptions& options) { return std::make_unique<MpiWire>(options); }

}  // namespace
}  // namespace espalier

extern "C" {
extern const espalier::WireModule espalier_wire_module;
const espalier::WireModule espalier_wire_module = {espalier::kWireVersion, espalier::make_mpi};
}
