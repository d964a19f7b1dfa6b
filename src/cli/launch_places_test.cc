// Machines that lack what others rely on: room in /dev/shm, a loopback device, a name that resolves, memory.
#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

constexpr int kManyUnits = 700;  // gradients of 2 MB

// In namespaces of its own, prepared by `prepare`: the plan of the folder on two workers, and the weights'
// hash against that of an undisturbed run.
void expect_undisturbed(const std::string& name, const std::string& namespaces, const std::string& prepare) {
  const auto inside = [&](const std::string& words) {
    return call_shell(cat("unshare -r", namespaces, " ", shell_words(cat(prepare, " && ", words))));
  };
  if (inside("true").code != 0) GTEST_SKIP() << "no namespaces here: unshare -r" << namespaces;
  const std::string folder = folder_to_launch(name, 96, kManyUnits);
  const std::string flags = "--deterministic";
  const Outcome plain =
      call_command(cat("train ", folder, "/plan.toml --force --model ", folder, "/undisturbed ", flags));
  ASSERT_EQ(plain.code, 0) << plain.error;
  const Outcome run = inside(launch_words(2, "", worker_words(folder, flags)));
  ASSERT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(folder + "/model"), weights_hash(folder + "/undisturbed"));
}

TEST(LaunchPlaces, SlowSharedMemoryNeedsNoDevShm) {
  expect_undisturbed("launch-shm", "m",
                     "mount -t tmpfs -o size=1m tmpfs /dev/shm && "
                     "! head -c 1100000 /dev/zero 2> /dev/null > /dev/shm/full && rm /dev/shm/full");
}

TEST(LaunchPlaces, SlowWorkersOfOneHostNeedNoLoopback) {
  expect_undisturbed("launch-loopback", "n",
                     "bash -c \"echo > /dev/tcp/127.0.0.1/9\" 2>&1 | grep -q unreachable");
}

TEST(LaunchPlaces, SlowWorkersOfOneHostNeedNoNameOfIt) {
  expect_undisturbed("launch-name", "u", "hostname nowhere.invalid && ! getent hosts nowhere.invalid");
}

// Its sentence, of a run that `limit` leaves without memory. A signal, as SIGBUS or SIGXFSZ, fails.
void expect_sentence(const std::string& words, int code, const std::string& sentence) {
  const Outcome run = call_shell(words);
  EXPECT_EQ(run.code, code) << words << "\n" << run.error;
  EXPECT_NE(run.error.find(sentence), std::string::npos) << words << "\n" << run.error;
  EXPECT_EQ(run.error.find("signal"), std::string::npos) << run.error;
}

TEST(LaunchPlaces, SlowMemoryThatIsNotThereIsASentence) {
  const std::string folder = folder_to_launch("launch-memory", 96, kManyUnits);
  const auto of_rank = [&](const std::string& limit) {
    return launch_words(2, "", but_on(1, cat("ulimit ", limit), worker_words(folder)));
  };
  // Units of 512 bytes in sh: the file that a rank shares may not have as many as it needs.
  expect_sentence(of_rank("-f 2048"), 43, " of shared memory: its file may have 1048576 bytes (ulimit -f)");
  // Of the launcher: the board of the ranks.
  expect_sentence(cat("(ulimit -f 8; ", launch_words(2, "", worker_words(folder)), ")"), 2,
                  "the board of the ranks asks for ");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Addresses for what the program needs, but not for the model.
  expect_sentence(of_rank("-v 56000"), 43, ": cannot allocate 1960000 bytes");
#endif
}

}  // namespace
}  // namespace espalier::cli
