// A training run that SIGKILL ends at random instants goes on from its checkpoint to the same bits.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

constexpr int kKills = 200, kKillsInAWrite = 30, kRuns = 4;
constexpr const char* kCheckpoint = "run.checkpoint";
constexpr const char* kResult = "result";
constexpr const char* kWeights = "weights";  // those that are trained, f32

// Weights that make the checkpoint large, and its writing slow beside 20 steps.
struct Ballast final : Layer {
  Ballast() : Layer("ballast") {}
  void build(const TensorType&) override { add_weight("ballast", {1 << 20}, initializer("zeros"), false); }
  Tensor call(const Tensor& x) override { return x; }
};

// What the killed program does: trains with dropout, batch statistics, a falling rate and a checkpoint every
// 20 steps, says on standard output when the run begins, and leaves all bits of the end in `folder`/result.
// On `device`, a plugin's file, or here; `epochs` of 33 steps.
int train(const std::string& folder, const std::string& device, int epochs) {
  const DeviceScope there(device);
  set_seed(5);
  Generator random(1);
  const Tensor x = random.normal({33 * 16, 20});
  const Tensor y = convert(sum(x * x, 1) < 19, DType::kI32);
  Sequential model{Ballast(), Dense({.units = 32, .activation = "relu"}), BatchNormalization(), Dropout(0.3),
                   Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.01}});
  const auto say = LambdaCallback({.on_train_begin = [](const Callback::Run&) {
    std::fputs("begun\n", stdout);
    std::fflush(stdout);
  }});
  const auto history = model.fit(
      x, y,
      {.epochs = epochs,
       .batch_size = 16,
       .validation_split = 0.1,
       .callbacks = {say, BackupAndRestore({.path = folder + "/" + kCheckpoint, .save_freq = 20}),
                     ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 0.1}),
                     EarlyStopping({.patience = 30, .restore_best_weights = true}),
                     CSVLogger(folder + "/log.csv")}});
  std::ofstream out(folder + "/" + kResult + ".new", std::ios::binary);
  for (const Logs& logs : history) {
    for (const auto& [name, value] : logs) out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::vector<Variable> variables = model.variables();
  for (const Variable& variable : model.optimizer().variables()) variables.push_back(variable);
  variables.push_back(default_generator().step_variable());
  for (const Variable& variable : variables) {
    const Tensor value = variable.read();
    out.write(static_cast<const char*>(value.bytes()), static_cast<std::streamsize>(value.type().bytes()));
  }
  out.close();
  std::ofstream weights(folder + "/" + kWeights, std::ios::binary);
  for (const Variable& variable : model.trainable_variables()) {
    const Tensor value = variable.read();
    weights.write(static_cast<const char*>(value.bytes()),
                  static_cast<std::streamsize>(value.type().bytes()));
  }
  weights.close();
  std::filesystem::rename(folder + "/" + kResult + ".new", folder + "/" + kResult);
  return 0;
}

// This program once more, as the one that trains.
class Child {
 public:
  explicit Child(const std::string& folder, const std::string& device = "cpu", int epochs = 24) {
    const std::string count = std::to_string(epochs);
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(pipe_ends[1], STDOUT_FILENO);
      ::execl("/proc/self/exe", "test_kills", "--train", folder.c_str(), device.c_str(), count.c_str(),
              nullptr);
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    output_ = pipe_ends[0];
  }
  ~Child() { ::close(output_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Until the run begins; false when the program ended before.
  bool wait_for_begin() const {
    char byte;
    return ::read(output_, &byte, 1) == 1;
  }
  void kill() const { ::kill(process_, SIGKILL); }
  // How it ended.
  int wait() const {
    int status = 0;
    ::waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
  int output_ = -1;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

struct Folder {
  explicit Folder(const std::string& name) : path(testing::TempDir() + "/" + name) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return path + "/" + name; }
  // A killed writer leaves its temporary file.
  bool has_begun_file() const {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(kCheckpoint) && name.ends_with(".part")) return true;
    }
    return false;
  }
  std::string path;
};

TEST(Kills, SlowATwoHundredFoldKilledRunEndsInTheSameBits) {
  using std::chrono::steady_clock;
  const Folder whole("kills_whole");
  const Child reference(whole.path);
  ASSERT_TRUE(reference.wait_for_begin());
  const auto begin = steady_clock::now();
  ASSERT_EQ(reference.wait(), 0);
  const auto duration = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
  const std::string wanted = bytes_of(whole.file(kResult)), log = bytes_of(whole.file("log.csv"));
  ASSERT_GT(wanted.size(), 100000u);

  std::mt19937_64 random(11);
  int kills = 0, in_a_write = 0, resumed = 0, ended = 0;
  const auto enough = [&] { return kills >= kKills && in_a_write >= kKillsInAWrite; };
  while (!enough() || ended < kRuns) {
    const Folder folder("kills_run");
    for (bool done = false; !done;) {
      resumed += std::filesystem::exists(folder.file(kCheckpoint));
      const Child child(folder.path);
      ASSERT_TRUE(child.wait_for_begin()) << "after " << kills << " kills the run does not begin again";
      const auto instant = random() % static_cast<uint64_t>(duration.count() / 6);
      std::this_thread::sleep_for(std::chrono::microseconds(instant));
      if (!enough()) child.kill();
      const int status = child.wait();
      done = WIFEXITED(status);
      if (done) {
        ASSERT_EQ(status, 0);
      } else {
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
        ++kills;
        in_a_write += folder.has_begun_file();
      }
    }
    ++ended;
    ASSERT_TRUE(bytes_of(folder.file(kResult)) == wanted) << "after " << kills << " kills";
    ASSERT_EQ(bytes_of(folder.file("log.csv")), log);
    ASSERT_FALSE(folder.has_begun_file());
  }
  std::printf("%d kills, %d of them inside of a write; %d starts from a checkpoint, %d runs ended\n", kills,
              in_a_write, resumed, ended);
}

// Trains in `folder` on `device`, killed at some instant of so many microseconds behind the run's begin, and
// then on `next` until it has ended without a kill. Whether it was killed.
bool killed_and_gone_on(const Folder& folder, const std::string& device, const std::string& next, int epochs,
                        uint64_t instant) {
  const Child child(folder.path, device, epochs);
  if (!child.wait_for_begin()) return false;
  std::this_thread::sleep_for(std::chrono::microseconds(instant));
  child.kill();
  const bool killed = WIFSIGNALED(child.wait());
  if (killed) {
    const Child last(folder.path, next, epochs);
    EXPECT_EQ(last.wait(), 0);
  }
  return killed;
}

std::vector<float> floats_of(const std::string& path) {
  const std::string bytes = bytes_of(path);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

// On the device: the same bits. Gone on with here: what sums in another order make of the steps behind the
// kill.
TEST(Kills, NightlyARunOnADeviceIsKilledTwentyTimes) {
  ESPALIER_NEEDS_PLUGIN();
  using std::chrono::steady_clock;
  const std::string device = pjrt::test_plugin();
  constexpr int kDeviceKills = 20, kEpochs = 4;
  // Each start would compile for longer than it trains.
  const Folder programs("kills_programs");
  ::setenv("ESPALIER_CACHE", programs.path.c_str(), 1);
  {
    const Folder first("kills_device_first");
    EXPECT_EQ(Child(first.path, device, kEpochs).wait(), 0);
  }
  const Folder whole("kills_device_whole");
  const Child reference(whole.path, device, kEpochs);
  ASSERT_TRUE(reference.wait_for_begin());
  const auto begin = steady_clock::now();
  ASSERT_EQ(reference.wait(), 0);
  const auto duration = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
  const std::string wanted = bytes_of(whole.file(kResult));
  const std::vector<float> weights = floats_of(whole.file(kWeights));
  ASSERT_GT(weights.size(), 700u);
  const float most = std::abs(*std::ranges::max_element(weights, {}, [](float x) { return std::abs(x); }));

  std::mt19937_64 random(13);
  double apart = 0;
  int killed = 0, elsewhere = 0;
  while (killed < kDeviceKills) {
    const Folder folder("kills_device_run");
    const bool here = killed % 4 == 3;
    const uint64_t instant = random() % static_cast<uint64_t>(duration.count());
    if (!killed_and_gone_on(folder, device, here ? "cpu" : device, kEpochs, instant)) continue;
    ++killed;
    if (!here) {
      ASSERT_TRUE(bytes_of(folder.file(kResult)) == wanted) << "after " << killed << " kills";
      continue;
    }
    ++elsewhere;
    const std::vector<float> got = floats_of(folder.file(kWeights));
    ASSERT_EQ(got.size(), weights.size());
    for (size_t k = 0; k < got.size(); ++k)
      apart = std::max(apart, static_cast<double>(std::abs(got[k] - weights[k]) / most));
  }
  std::printf("%d kills on a device; %d runs gone on with here, within %.1e of its weights\n", killed,
              elsewhere, apart);
  EXPECT_LE(apart, 1e-4);
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--train") == 0)
    return espalier::train(argv[2], argv[3], std::atoi(argv[4]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
