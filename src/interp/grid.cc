#include <condition_variable>
#include <exception>
#include <map>
#include <thread>

#include "base/thread_stacks.h"
#include "interp/interpreter.h"
#include "ops/collective.h"

namespace espalier {
namespace {

// Where the processes of a grid meet. A meeting is named by its members and by how many they had before.
class GridMeetings {
 public:
  explicit GridMeetings(size_t processes) : running_(processes) {}

  std::vector<std::vector<Literal>> exchange(int64_t process, const std::vector<int64_t>& members,
                                             uint64_t turn, const std::string& what,
                                             std::vector<Literal> mine) {
    std::unique_lock lock(mutex_);
    const Key key{members, turn};
    const std::shared_ptr<Meeting> meeting =
        open_.try_emplace(key, std::make_shared<Meeting>()).first->second;
    if (meeting->given.empty()) {
      meeting->what = what;
      meeting->given.resize(members.size());
    }
    if (meeting->what != what && broken_.empty())
      broken_ = cat("one process calls ", meeting->what, " where another calls ", what);
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i] == process) meeting->given[i] = std::move(mine);
    }
    if (broken_.empty() && ++meeting->arrived == members.size()) {
      running_ += members.size() - 1;
      open_.erase(key);
      meeting->complete = true;
    } else if (--running_ == 0 && broken_.empty()) {
      broken_ = vain(what);
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return meeting->complete || !broken_.empty(); });
    if (!meeting->complete) {
      ++running_;
      throw RunError("grid.exchange", broken_);
    }
    return meeting->given;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0 && !open_.empty() && broken_.empty()) broken_ = vain(open_.begin()->second->what);
    changed_.notify_all();
  }

 private:
  struct Meeting {
    std::string what;
    std::vector<std::vector<Literal>> given;
    size_t arrived = 0;
    bool complete = false;
  };
  using Key = std::pair<std::vector<int64_t>, uint64_t>;
  static std::string vain(const std::string& what) {
    return cat("processes wait in ", what, " for others that never come: all of a group make the same calls");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<Meeting>> open_;
  size_t running_;  // processes that neither wait nor have ended
  std::string broken_;
};

class GridProcess final : public GridCommunicator {
 public:
  GridProcess(GridMeetings& meetings, int64_t replicas, int64_t partitions, int64_t process)
      : meetings_(meetings), replicas_(replicas), partitions_(partitions), process_(process) {}
  int rank() const override { return static_cast<int>(process_); }
  int world() const override { return static_cast<int>(replicas_ * partitions_); }
  int64_t replicas() const override { return replicas_; }
  int64_t partitions() const override { return partitions_; }
  uint32_t any(uint32_t bits) override {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < replicas_ * partitions_; ++i) all.push_back(i);
    uint32_t out = 0;
    const Literal mine = Literal::copy({DType::kU32, {}}, &bits);
    for (const auto& given : exchange(all, "any", {mine})) out |= *given[0].view().as<uint32_t>();
    return out;
  }
  std::vector<std::vector<Literal>> exchange(const std::vector<int64_t>& members, const std::string& what,
                                             std::vector<Literal> mine) override {
    waits_in_vain_ = true;
    auto given = meetings_.exchange(process_, members, turns_[members]++, what, std::move(mine));
    waits_in_vain_ = false;
    return given;
  }
  // Whether its last exchange could not come.
  bool waits_in_vain() const { return waits_in_vain_; }

 private:
  GridMeetings& meetings_;
  const int64_t replicas_, partitions_, process_;
  std::map<std::vector<int64_t>, uint64_t> turns_;
  bool waits_in_vain_ = false;
};

}  // namespace

GridValues interpret_grid(const Graph& graph, const GridValues& inputs) {
  const size_t replicas = inputs.size(), partitions = replicas ? inputs[0].size() : 0;
  for (const auto& replica : inputs) {
    if (replica.size() == partitions && partitions) continue;
    throw ShapeError("grid.shape",
                     cat("a grid of ", replicas, " replicas needs equally many partitions in each"));
  }
  if (!replicas) throw ShapeError("grid.shape", "a grid has one replica at least");
  const size_t processes = replicas * partitions;
  GridMeetings meetings(processes);
  GridValues out(replicas, std::vector<std::vector<Literal>>(partitions));
  std::vector<std::exception_ptr> failed(processes), waited(processes);
  {
    const ThreadStacks stacks;
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < processes; ++i) {
      threads.emplace_back([&, i] {
        GridProcess process(meetings, static_cast<int64_t>(replicas), static_cast<int64_t>(partitions),
                            static_cast<int64_t>(i));
        try {
          const RunContext context({.threads = 1, .communicator = &process});
          const RunScope scope(context);
          out[i / partitions][i % partitions] =
              interpret(graph, inputs[i / partitions][i % partitions], context);
        } catch (...) {
          (process.waits_in_vain() ? waited : failed)[i] = std::current_exception();
        }
        meetings.leave();
      });
    }
  }
  // One that failed by itself says more than those that waited for it.
  for (const auto& errors : {failed, waited}) {
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }
  return out;
}

}  // namespace espalier
