// A device for tests, which holds whoever uses devices to what src/ir/device.h says. It computes on this CPU,
// but late and on a thread of its own. Its arrays lie in pages that only this thread opens, and only while it
// computes or copies: whoever reads there without a download is stopped by the processor. What is donated is
// overwritten, and refused from there on. One of several replicas stands for as many devices that run one
// program: they meet in its collectives, by the reference interpreter.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/run_context.h"
#include "interp/interpreter.h"
#include "ir/device.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {

// The memory of one array. It opens and closes on the device's thread alone.
class FakePages {
 public:
  static constexpr unsigned char kDonated = 0xA5;  // bytes of what was donated

  explicit FakePages(size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (std::max<size_t>(bytes, 1) + page - 1) / page * page;
    address_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address_ == MAP_FAILED)
      throw DeviceError("device.memory", cat("the fake device has no ", mapped_, " bytes"));
  }
  ~FakePages() { munmap(address_, mapped_); }
  FakePages(const FakePages&) = delete;
  FakePages& operator=(const FakePages&) = delete;

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  void allow(int protection) const {
    if (mprotect(address_, mapped_, protection) != 0)
      throw InternalError("the fake device's pages stay shut");
  }

  class Open {
   public:
    Open(std::shared_ptr<const FakePages> pages, int protection) : pages_(std::move(pages)) {
      pages_->allow(protection);
    }
    ~Open() {
      if (pages_) pages_->allow(PROT_NONE);
    }
    Open(Open&&) = default;
    Open& operator=(Open&&) = delete;

   private:
    std::shared_ptr<const FakePages> pages_;
  };

 private:
  size_t bytes_, mapped_;
  void* address_;
};
using FakePagesPtr = std::shared_ptr<FakePages>;

// What an array shares with the work that is under way for it.
struct FakeContents {
  TensorType type;
  FakePagesPtr pages;        // the values of all replicas, one behind the other
  std::string failure = {};  // of the run that should have computed it; of the device's thread alone
};
using FakeContentsPtr = std::shared_ptr<FakeContents>;

// One run of a program, on the device's thread.
struct FakeRun {
  std::shared_ptr<const Executable> executable;
  size_t replicas;
  const RunContext* context;
  std::chrono::microseconds delay;
  std::vector<FakeContentsPtr> inputs = {}, outputs = {};
  std::vector<char> donated = {};
  std::vector<FakePagesPtr> targets = {};  // what each output is computed in, if not where it stays

  void compute() const {
    std::this_thread::sleep_for(delay);
    const std::string failure = failure_of();
    for (const FakeContentsPtr& output : outputs) output->failure = failure;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!donated[i]) continue;
      const FakePages::Open open(inputs[i]->pages, PROT_READ | PROT_WRITE);
      std::memset(inputs[i]->pages->address(), FakePages::kDonated, inputs[i]->pages->bytes());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]->pages == targets[i]) continue;
      const FakePages::Open to(outputs[i]->pages, PROT_READ | PROT_WRITE), from(targets[i], PROT_READ);
      std::memcpy(outputs[i]->pages->address(), targets[i]->address(), targets[i]->bytes());
    }
  }

 private:
  std::string failure_of() const {
    std::vector<FakePages::Open> open;
    std::vector<ArrayView> from;
    std::vector<MutableArrayView> to;
    for (const FakeContentsPtr& input : inputs) {
      if (!input->failure.empty()) return input->failure;
      open.emplace_back(input->pages, PROT_READ);
      from.push_back({&input->type, input->pages->address()});
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      open.emplace_back(targets[i], PROT_READ | PROT_WRITE);
      to.push_back({&outputs[i]->type, targets[i]->address()});
    }
    try {
      if (replicas == 1)
        run(*executable, from, to, *context);
      else
        run_replicas(from, to);
    } catch (const std::exception& error) {
      return cat(executable->graph().name(), " failed: ", error.what());
    }
    return "";
  }

  void run_replicas(const std::vector<ArrayView>& from, const std::vector<MutableArrayView>& to) const {
    GridValues values(replicas, {{}});
    for (size_t replica = 0; replica < replicas; ++replica)
      for (const ArrayView& input : from)
        values[replica][0].push_back(
            Literal::copy(*input.type, input.as<std::byte>() + replica * input.type->bytes()));
    const GridValues results = interpret_grid(executable->graph(), values);
    for (size_t replica = 0; replica < replicas; ++replica) {
      for (size_t i = 0; i < to.size(); ++i) {
        const Literal dense = results[replica][0][i].expanded();
        const size_t bytes = dense.raw_bytes();
        if (bytes) std::memcpy(to[i].as<std::byte>() + replica * bytes, dense.raw(), bytes);
      }
    }
  }
};

struct FakeDeviceOptions {
  std::string name = "fake";
  std::chrono::microseconds latest{200};  // a program begins at a random time until this one
  uint32_t seed = 1;
  std::function<void(const Graph&)> compiling = {};  // is called first; a test may wait or throw there
  std::function<void(const Graph&)> running = {};    // the same of each run
  size_t replicas = 1;
};

// Whatever it has made keeps it alive. Safe from several threads.
class FakeDevice final : public Device, public std::enable_shared_from_this<FakeDevice> {
 public:
  using Work = std::function<void()>;

  static std::shared_ptr<FakeDevice> create(FakeDeviceOptions options = {}) {
    return std::shared_ptr<FakeDevice>(new FakeDevice(std::move(options)));
  }
  // Ends what is under way first.
  ~FakeDevice() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    more_.notify_one();
    thread_.join();
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  const std::string& name() const override { return options_.name; }
  DeviceMemory memory() const override { return {}; }
  size_t replicas() const override { return options_.replicas; }
  std::shared_ptr<const DeviceProgram> compile(const Graph& graph,
                                               const ProgramOptions& options = {}) override;

  // Whether anything was brought there or compiled for it.
  bool was_asked() const { return asked_; }
  // How many arrays programs were given for good.
  size_t donations() const { return donations_; }

  // Work of tests between that of the device: does not wait for it.
  void then(Work work) {
    const std::lock_guard lock(mutex_);
    add(std::move(work));
  }

 private:
  friend class FakeArray;
  friend class FakeProgram;
  RemoteArrayPtr keep(std::span<const Literal> values) override;
  explicit FakeDevice(FakeDeviceOptions options)
      : options_(std::move(options)), random_(options_.seed), thread_([this] { work(); }) {}

  // REQUIRES: mutex_ is held.
  void add(Work work) {
    todo_.push_back(std::move(work));
    more_.notify_one();
  }
  std::chrono::microseconds delay() {
    return std::chrono::microseconds(
        std::uniform_int_distribution<int64_t>(0, options_.latest.count())(random_));
  }
  void work() {
    const RunScope scope(context_);
    for (std::unique_lock lock(mutex_);;) {
      more_.wait(lock, [&] { return ends_ || !todo_.empty(); });
      if (todo_.empty()) return;
      {
        const Work now = std::move(todo_.front());
        todo_.pop_front();
        lock.unlock();
        now();
      }
      lock.lock();
    }
  }

  std::atomic<bool> asked_ = false;
  std::atomic<size_t> donations_ = 0;
  const FakeDeviceOptions options_;
  const RunContext context_{RunContextOptions{.threads = 1}};
  std::mutex mutex_;  // of what follows, and of whether an array was donated
  std::condition_variable more_;
  std::deque<Work> todo_;  // in order: what was asked for before a donation sees the array as it was
  std::minstd_rand random_;
  bool ends_ = false;
  std::thread thread_;
};
using FakeDevicePtr = std::shared_ptr<FakeDevice>;

class FakeArray final : public RemoteArray {
 public:
  FakeArray(FakeDevicePtr device, FakeContentsPtr contents)
      : device_(std::move(device)), contents_(std::move(contents)) {}

  const TensorType& type() const override { return contents_->type; }
  Device& device() const override { return *device_; }
  // Where nobody may read.
  const void* address() const { return contents_->pages->address(); }

 private:
  friend class FakeProgram;
  Literal copy_of(size_t replica) const override {
    Buffer bytes = allocate_buffer(type().bytes());
    constexpr unsigned char kNotYet = 0xFF;  // NaN, or -1
    std::memset(bytes.get(), kNotYet, type().bytes());
    auto done = std::make_shared<std::promise<std::string>>();
    auto failure = done->get_future();
    {
      const std::lock_guard lock(device_->mutex_);
      require_kept();
      device_->add([done, contents = contents_, bytes, replica] {
        const FakePages::Open open(contents->pages, PROT_READ);
        const size_t size = contents->type.bytes();
        if (contents->failure.empty() && size)
          std::memcpy(bytes.get(), static_cast<const std::byte*>(contents->pages->address()) + replica * size,
                      size);
        done->set_value(contents->failure);
      });
    }
    if (const std::string text = failure.get(); !text.empty()) throw DeviceError("device.run", text);
    return Literal(type(), std::move(bytes));
  }
  // REQUIRES: the device's mutex is held.
  void require_kept() const {
    if (donated_)
      throw DeviceError("device.donated",
                        cat("an array of ", type(), " was donated to a program, and is gone"));
  }

  FakeDevicePtr device_;
  FakeContentsPtr contents_;
  mutable bool donated_ = false;
};

class FakeProgram final : public DeviceProgram {
 public:
  FakeProgram(FakeDevicePtr device, std::shared_ptr<const Executable> executable, std::vector<Alias> aliases)
      : device_(std::move(device)), executable_(std::move(executable)), aliases_(std::move(aliases)) {}

  std::vector<RemoteArrayPtr> run(std::span<const RemoteArrayPtr> inputs, std::span<const char> donated,
                                  const RunContext&) const override {
    const Graph& graph = executable_->graph();
    if (device_->options_.running) device_->options_.running(graph);
    const size_t replicas = device_->replicas();
    const std::lock_guard lock(device_->mutex_);
    const std::vector<const FakeArray*> arrays = checked(inputs, donated);
    FakeRun run{.executable = executable_,
                .replicas = replicas,
                .context = &device_->context_,
                .delay = device_->delay()};
    for (size_t i = 0; i < arrays.size(); ++i) {
      run.inputs.push_back(arrays[i]->contents_);
      run.donated.push_back(!donated.empty() && donated[i]);
    }
    for (const GraphOutput& output : graph.outputs()) {
      const TensorType& type = graph.type(output.value);
      run.targets.push_back(std::make_shared<FakePages>(type.bytes() * replicas));
      run.outputs.push_back(std::make_shared<FakeContents>(FakeContents{type, run.targets.back()}));
    }
    // Every other update takes the memory of the old value, as devices may.
    for (const Alias& alias : aliases_)
      if (run.donated[alias.input] && device_->random_() % 2)
        run.outputs[alias.output]->pages = run.inputs[alias.input]->pages;
    std::vector<RemoteArrayPtr> out;
    for (const FakeContentsPtr& output : run.outputs)
      out.push_back(std::make_shared<FakeArray>(device_, output));
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (!run.donated[i]) continue;
      arrays[i]->donated_ = true;
      ++device_->donations_;
    }
    device_->add([run = std::move(run)] { run.compute(); });
    return out;
  }

 private:
  // Raises before anything has changed.
  std::vector<const FakeArray*> checked(std::span<const RemoteArrayPtr> inputs,
                                        std::span<const char> donated) const {
    const Graph& graph = executable_->graph();
    const std::vector<GraphInput>& wanted = graph.inputs();
    if (inputs.size() != wanted.size())
      throw ShapeError("device.inputs", cat(graph.name(), " takes ", counted(wanted.size(), "input"),
                                            ", got ", inputs.size()));
    if (!donated.empty() && donated.size() != inputs.size())
      throw InternalError(
          cat(donated.size(), " of ", counted(inputs.size(), "input"), " are donated or not"));
    std::vector<const FakeArray*> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType &type = graph.type(wanted[i].value), &got = inputs[i]->type();
      const std::string text = cat("input ", i, " of ", graph.name());
      if (type.dtype != got.dtype) throw DTypeError("device.inputs", cat(text, " is ", type, ", got ", got));
      if (type != got) throw ShapeError("device.inputs", cat(text, " is ", type, ", got ", got));
      const auto* array = dynamic_cast<const FakeArray*>(inputs[i].get());
      if (!array || array->device_ != device_)
        throw DeviceError("device.inputs", cat(text, " lies on ", inputs[i]->device().name(),
                                               ", and the program runs on ", device_->name()));
      array->require_kept();
      for (size_t k = 0; k < i; ++k)
        if (out[k] == array && !donated.empty() && (donated[i] || donated[k]))
          throw DeviceError("device.donated", cat(text, " is input ", k, ", too, and donated"));
      out.push_back(array);
    }
    return out;
  }

  FakeDevicePtr device_;
  std::shared_ptr<const Executable> executable_;
  std::vector<Alias> aliases_;
};

inline RemoteArrayPtr FakeDevice::keep(std::span<const Literal> values) {
  asked_ = true;
  if (values.size() != replicas())
    throw InternalError(cat(values.size(), " values for ", counted(replicas(), "replica")));
  const TensorType& type = values[0].type();
  auto pages = std::make_shared<FakePages>(type.bytes() * values.size());
  {
    const FakePages::Open open(pages, PROT_READ | PROT_WRITE);
    auto* to = static_cast<std::byte*>(pages->address());
    for (const Literal& value : values) {
      if (value.type() != type) throw InternalError("values of replicas are of one type");
      const Literal dense = value.expanded();
      if (type.bytes()) std::memcpy(to, dense.raw(), type.bytes());
      to += type.bytes();
    }
  }
  return std::make_shared<FakeArray>(shared_from_this(),
                                     std::make_shared<FakeContents>(FakeContents{type, std::move(pages)}));
}

inline std::shared_ptr<const DeviceProgram> FakeDevice::compile(const Graph& graph,
                                                                const ProgramOptions& options) {
  const std::span<const Alias> aliases = options.aliases;
  asked_ = true;
  if (options_.compiling) options_.compiling(graph);
  for (size_t i = 0; i < aliases.size(); ++i) {
    const Alias& alias = aliases[i];
    if (graph.type(graph.inputs().at(alias.input).value) !=
        graph.type(graph.outputs().at(alias.output).value))
      throw InternalError(cat("the types of alias ", i, " of ", graph.name(), " differ"));
    for (const Alias& other : aliases.first(i))
      if (other.input == alias.input || other.output == alias.output)
        throw InternalError(cat("an input or output of alias ", i, " of ", graph.name(), " stands in two"));
  }
  return std::make_shared<FakeProgram>(shared_from_this(),
                                       espalier::compile(optimize(std::make_shared<Graph>(graph))),
                                       std::vector<Alias>(aliases.begin(), aliases.end()));
}

}  // namespace espalier
