// All ways in which a program can run, for tests that are written once.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "eager/trace.h"
#include "espalier/espalier.h"
#include "ir/sink.h"
#include "ops/collective.h"
#include "place/interpreter_place.h"
#include "place/parts_place.h"
#include "runtime/fake_device_test.h"
#include "strategy/replicas.h"

namespace espalier {

// One value a replica, of arguments or results.
using OfReplicas = std::vector<std::vector<Tensor>>;
using Numbers = std::vector<double>;

inline Numbers numbers_in(const Literal& value) {
  const Literal dense = value.expanded();
  const DType dtype = dense.type().dtype;
  Numbers out;
  for (int64_t i = 0; i < dense.type().elements(); ++i)
    out.push_back(load_scalar(dtype, static_cast<const std::byte*>(dense.raw()) + i * size_of(dtype)));
  return out;
}
inline Numbers numbers_in(const Tensor& tensor) {
  tensor.bytes();  // refuses what was donated
  return numbers_in(tensor.node()->literal());
}
// What each replica has of a tensor.
inline std::vector<Numbers> numbers_of_replicas(const Tensor& tensor) {
  const RemoteArrayPtr& remote = tensor.node()->remote();
  if (!remote) return {numbers_in(tensor)};
  std::vector<Numbers> out;
  for (size_t i = 0; i < remote->device().replicas(); ++i) out.push_back(numbers_in(remote->download(i)));
  return out;
}

struct WayKind {
  const char* name;
  size_t replicas = 1;
  size_t devices = 0;    // fake ones; 0: this CPU
  size_t processes = 1;  // threads that are workers, with variables of their own
  bool interpreted = false;
  bool shards = false;  // replicas are logical shards
  friend std::ostream& operator<<(std::ostream& out, const WayKind& kind) { return out << kind.name; }
};
inline const std::vector<WayKind> kWays{
    {"host"},
    {"pools2", 2},
    {"pools3", 3},
    {"device", 1, 1},
    {"devices2", 2, 1},  // one Device of two replicas
    {"staged2", 2, 2, 2},
    {.name = "shards4", .replicas = 4, .shards = true},
    {.name = "shards4devices2", .replicas = 4, .devices = 1, .shards = true},  // one Device of two
    {.name = "interpreter2", .replicas = 2, .interpreted = true},
    {.name = "interpreter3", .replicas = 3, .interpreted = true},
};

// A way in which a test says nothing, and why.
struct LeftOut {
  std::string_view way;
  const char* why;
};
inline std::vector<WayKind> all_ways_but(const std::vector<LeftOut>& left_out) {
  std::vector<WayKind> out = kWays;
  for (const LeftOut& each : left_out) {
    const auto is = [&](const WayKind& kind) { return each.way == kind.name; };
    if (std::erase_if(out, is) != 1) throw std::logic_error("no such way");
  }
  return out;
}

// What a process has of a test.
struct OnProcess {
  std::vector<Variable> variables;
  TracedFunction function;
};

class Way {
 public:
  virtual ~Way() = default;
  // The functions of all processes at once; the results of each replica. Raises what the first one raises
  // that did not wait for others.
  virtual OfReplicas call(const std::vector<OnProcess>& processes, const OfReplicas& arguments) = 0;
  // Those who talk with each other do so no more behind an error. `turned`: replica i is the one before i
  // from here on.
  virtual void renew(bool turned = false) = 0;

  const WayKind kind;
  std::vector<FakeDevicePtr> devices;
  // Of each run of a program on a device, and of each compilation for one.
  std::function<void(size_t device, const Graph&)> running = {}, compiling = {};

 protected:
  explicit Way(const WayKind& kind) : kind(kind) {
    for (size_t i = 0; i < kind.devices; ++i) {
      FakeDeviceOptions options{.name = cat("fake:", i), .seed = static_cast<uint32_t>(i + 1)};
      options.running = [this, i](const Graph& graph) {
        if (running) running(i, graph);
      };
      options.compiling = [this, i](const Graph& graph) {
        if (compiling) compiling(i, graph);
      };
      options.replicas = kind.shards ? 2 : kind.processes == 1 ? kind.replicas : 1;
      devices.push_back(FakeDevice::create(std::move(options)));
    }
  }
};

// Replicas of this process: this CPU, pools of it, a device, or several.
class WayOfReplicas final : public Way {
 public:
  WayOfReplicas(const WayKind& kind, RunEvents* events)
      : Way(kind),
        context_({.threads = 1, .device = devices.empty() ? nullptr : devices[0].get(), .events = events}) {
    renew();
  }
  OfReplicas call(const std::vector<OnProcess>& processes, const OfReplicas& arguments) override {
    const RunScope scope(context_);
    return replicas_->run_each(processes.at(0).function, arguments);
  }
  void renew(bool = false) override {
    const RunScope scope(context_);
    std::vector<Replicas::Seat> seats(1);
    if (!devices.empty() && kind.replicas > 1) seats[0].device = devices[0];
    if (devices.empty() && kind.replicas > 1) {
      seats.clear();
      for (auto& communicator : local_communicators(static_cast<int>(kind.replicas)))
        seats.push_back({.communicator = communicator, .threads = 1});
    }
    replicas_ = std::make_unique<Replicas>(std::move(seats), false, CombineOptions{});
  }

 private:
  const RunContext context_;
  std::unique_ptr<Replicas> replicas_;
};

// Threads that are workers, each with a device.
class WayOfWorkers final : public Way {
 public:
  WayOfWorkers(const WayKind& kind, RunEvents* events) : Way(kind), events_(events) { renew(); }
  OfReplicas call(const std::vector<OnProcess>& processes, const OfReplicas& arguments) override {
    std::vector<std::exception_ptr> failed(workers_.size()), waited(workers_.size());
    OfReplicas out(workers_.size());
    std::vector<std::jthread> threads;
    const uint64_t modes = trace_context();
    for (size_t i = 0; i < workers_.size(); ++i) {
      threads.emplace_back([&, i] {
        const RunScope scope(*workers_[i].context);
        trace_context() = modes;
        try {
          out[i] = std::move(workers_[i].replicas->run_each(processes.at(i).function, {&arguments[i], 1})[0]);
        } catch (const Error& error) {
          (error.rule() == "comm.verdict" ? waited : failed)[i] = std::current_exception();
          workers_[i].communicator->abort(error.message());
        }
      });
    }
    threads.clear();
    for (const auto& errors : {failed, waited}) {
      for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
    }
    return out;
  }
  void renew(bool turned = false) override {
    workers_.clear();
    const auto ranks = local_communicators(static_cast<int>(kind.processes));
    for (size_t i = 0; i < kind.processes; ++i) {
      Worker worker;
      worker.communicator = ranks[(i + (turned ? 1 : 0)) % ranks.size()];
      worker.context =
          std::make_unique<RunContext>(RunContextOptions{.threads = 1,
                                                         .device = devices[i].get(),
                                                         .communicator = worker.communicator.get(),
                                                         .events = events_});
      const RunScope scope(*worker.context);
      worker.replicas = std::make_unique<Replicas>(
          std::vector<Replicas::Seat>{{.communicator = worker.communicator, .threads = 1}}, true,
          CombineOptions{});
      workers_.push_back(std::move(worker));
    }
  }

 private:
  struct Worker {
    std::shared_ptr<Communicator> communicator;
    std::unique_ptr<RunContext> context;
    std::unique_ptr<Replicas> replicas;
  };
  RunEvents* const events_;
  std::vector<Worker> workers_;
};

class WayOfInterpreter final : public Way {
 public:
  WayOfInterpreter(const WayKind& kind, RunEvents* events)
      : Way(kind), context_({.threads = 1, .events = events}), place_(static_cast<int>(kind.replicas)) {}
  OfReplicas call(const std::vector<OnProcess>& processes, const OfReplicas& arguments) override {
    return processes.at(0).function.call_each(arguments, place_, context_);
  }
  void renew(bool = false) override {}

 private:
  const RunContext context_;
  const InterpreterPlace place_;
};

class WayOfShards final : public Way {
 public:
  WayOfShards(const WayKind& kind, RunEvents* events)
      : Way(kind),
        context_({.threads = 1,
                  .device = devices.empty() ? nullptr : devices[0].get(),
                  .world = devices.empty() ? 1 : 2,
                  .events = events}),
        place_(static_cast<int>(kind.replicas), context_) {}
  OfReplicas call(const std::vector<OnProcess>& processes, const OfReplicas& arguments) override {
    return processes.at(0).function.call_each(arguments, place_, context_);
  }
  void renew(bool = false) override {}

 private:
  const RunContext context_;
  const PartsPlace place_;
};

// `events`: told of what its calls do.
inline std::unique_ptr<Way> way_of(const WayKind& kind, RunEvents* events = nullptr) {
  if (kind.shards) return std::make_unique<WayOfShards>(kind, events);
  if (kind.interpreted) return std::make_unique<WayOfInterpreter>(kind, events);
  if (kind.processes > 1) return std::make_unique<WayOfWorkers>(kind, events);
  return std::make_unique<WayOfReplicas>(kind, events);
}

// What a test runs in a way; `make` gives what a process has, by its number.
class OnWay {
 public:
  OnWay(Way& way, const std::function<OnProcess(int64_t)>& make) : way_(way) {
    for (size_t i = 0; i < way.kind.processes; ++i) processes_.push_back(make(static_cast<int64_t>(i)));
  }
  OfReplicas operator()(const OfReplicas& arguments) const { return way_.call(processes_, arguments); }
  // That of replica i.
  const OnProcess& of(size_t replica) const { return processes_[replica % processes_.size()]; }
  const std::vector<OnProcess>& processes() const { return processes_; }
  // What a variable holds, which is the same everywhere.
  Numbers held(size_t variable) const {
    std::vector<Numbers> all;
    for (const OnProcess& process : processes_) {
      for (Numbers& each : numbers_of_replicas(process.variables.at(variable).state()->value))
        all.push_back(std::move(each));
    }
    for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[0]) << "holder " << i;
    return all[0];
  }
  // Of all variables.
  std::vector<Numbers> all_held() const {
    std::vector<Numbers> out;
    for (size_t i = 0; i < processes_[0].variables.size(); ++i) out.push_back(held(i));
    return out;
  }

 private:
  Way& way_;
  std::vector<OnProcess> processes_;
};

// Rows of whole numbers, so that sums of them have no rounding; wide enough that replicas share new values
// out.
constexpr int64_t kWidth = 1200;
inline double number_at(int64_t row, int64_t column, int64_t turn) {
  return static_cast<double>((row * 7 + column * 3 + turn * 5) % 11 - 4);
}
inline Tensor rows_between_of(int64_t turn, int64_t first, int64_t last) {
  std::vector<float> out;
  for (int64_t row = first; row < last; ++row)
    for (int64_t column = 0; column < kWidth; ++column)
      out.push_back(static_cast<float>(number_at(row, column, turn)));
  return Tensor::of(out, {last - first, kWidth});
}
// Which are a replica's.
inline std::pair<int64_t, int64_t> rows_of_replica(int64_t rows, size_t replica, size_t replicas) {
  const auto i = static_cast<int64_t>(replica), n = static_cast<int64_t>(replicas);
  return {rows * i / n, rows * (i + 1) / n};
}
// One argument for each: its rows of so many.
inline OfReplicas rows_for(const Way& way, int64_t rows, int64_t turn) {
  OfReplicas out;
  for (size_t i = 0; i < way.kind.replicas; ++i) {
    const auto [first, last] = rows_of_replica(rows, i, way.kind.replicas);
    out.push_back({rows_between_of(turn, first, last)});
  }
  return out;
}
inline Numbers sums_of(int64_t rows, int64_t turn) {
  Numbers out(kWidth);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < kWidth; ++column)
      out[static_cast<size_t>(column)] += number_at(row, column, turn);
  return out;
}

inline Numbers all_of(double value) { return Numbers(kWidth, value); }
inline Numbers operator+(Numbers a, const Numbers& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
inline Numbers operator*(Numbers a, double by) {
  for (double& each : a) each *= by;
  return a;
}
// Its rows, each times these.
inline Numbers rows_times(int64_t turn, std::pair<int64_t, int64_t> rows, const Numbers& by) {
  Numbers out;
  for (int64_t row = rows.first; row < rows.second; ++row)
    for (int64_t column = 0; column < kWidth; ++column)
      out.push_back(number_at(row, column, turn) * by[static_cast<size_t>(column)]);
  return out;
}

// With all elements stored, so that it can be written in place.
inline Tensor stored(double value) {
  return Tensor::of(std::vector<float>(kWidth, static_cast<float>(value)));
}
inline Tensor counting(double first) {
  std::vector<float> out;
  for (int64_t i = 0; i < kWidth; ++i) out.push_back(static_cast<float>(first + static_cast<double>(i)));
  return Tensor::of(out);
}
inline Variable stored_variable(double value, const char* name) {
  return Variable(stored(value), {.name = name});
}
// Of the rows of all replicas.
inline Tensor sum_of_all(const Tensor& x) { return all_reduce({reduce_sum(x, {0})})[0]; }

class OnEachWay : public testing::TestWithParam<WayKind> {
 protected:
  static constexpr int64_t kRows = 12;  // goes round for 2 and for 3
  const std::unique_ptr<Way> way = way_of(GetParam());
  const size_t replicas = way->kind.replicas;
  std::pair<int64_t, int64_t> rows_of(size_t replica, int64_t rows = kRows) const {
    return rows_of_replica(rows, replica, replicas);
  }
};

// Suites in all ways but some.
#define ESPALIER_ON_WAYS(suite, ...)                                                  \
  INSTANTIATE_TEST_SUITE_P(Ways, suite, testing::ValuesIn(all_ways_but(__VA_ARGS__)), \
                           [](const auto& info) { return std::string(info.param.name); })

}  // namespace espalier
