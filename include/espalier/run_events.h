// What a run tells of itself, and who is told.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace espalier {

// One step of a plan that has run, on the thread that called the plan.
struct StepEvent {
  const void* plan = nullptr;  // tells plans apart: what runtime/plan.h calls Executable::Plan
  std::string_view graph;      // the name of its graph
  std::string_view op;         // the first op of the step; "copy" for a copy
  size_t step = 0, steps = 0;  // which step of how many; what a region runs belongs to the step that owns it
  std::chrono::steady_clock::time_point begin, end;
};

// What begins and ends, in whatever way a program runs.
struct Activity {
  enum class Kind : uint8_t {
    kCompile,   // a place makes a program of a graph, whose name is told
    kRun,       // a call of a program, by its graph's name; what it has begun on a device may end later
    kExchange,  // a collective of a program among ranks, by its own name; those inside of a device are not
                // told
    kUpload,    // what is brought to a device, by the device's name
    kDownload,  // what is read of a device, by the device's name: the wait for it is part of it
  };
  static constexpr size_t kKinds = 5;

  Kind kind = Kind::kRun;
  std::string_view what;  // lives until its end is told
  size_t bytes = 0;       // that this rank gives, or that all replicas are brought; 0: a compilation, a run
};

// Told of what runs do. A context that several threads run in calls it from all of them, and so do threads
// that the library starts for a run. Nothing that it overrides throws.
class RunEvents {
 public:
  virtual ~RunEvents() = default;
  virtual void on_step(const StepEvent&) {}
  // Each begin has one end, also where what begins fails. On one thread they are nested, but for exchanges:
  // others begin before one ends, they end in the order of their begins, and may end on another thread.
  virtual void on_begin(const Activity&) {}
  virtual void on_end(const Activity&) {}
};

// How many there were, in all contexts that tell it.
class ActivityCounts final : public RunEvents {
 public:
  struct Count {
    int64_t begun = 0, ended = 0, bytes = 0;  // bytes of those that have ended
  };
  Count of(Activity::Kind kind) const;
  void on_begin(const Activity& activity) override;
  void on_end(const Activity& activity) override;

 private:
  struct OfKind {
    std::atomic<int64_t> begun{0}, ended{0}, bytes{0};
  };
  std::array<OfKind, Activity::kKinds> all_;
};

}  // namespace espalier
