// What long work shows on a terminal.
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/philox.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

// All that the command writes to a terminal of its own.
std::string on_terminal(std::vector<std::string> words, int& status) {
  words.insert(words.begin(), build_folder() + "/espalier");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const winsize size{.ws_row = 40, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = 0;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  std::string out;
  char part[1 << 12];
  for (ssize_t count; (count = read(terminal, part, sizeof part)) > 0;)
    out.append(part, static_cast<size_t>(count));
  waitpid(child, &status, 0);
  close(terminal);
  return out;
}

struct VerbProgressSlow : FolderTest {
  std::string model = folder + "/model";

  std::string rows(int count, uint64_t seed = 5) const {
    Philox random(seed);
    std::string out = "a,b,c,d,e,kind\n";
    for (int i = 0; i < count; ++i) {
      const float a = random.uniform();
      out += cat(a, ",", random.uniform(), ",", random.uniform(), ",", random.uniform(), ",",
                 random.uniform(), a > 0.4f ? ",yes\n" : ",no\n");
    }
    return out;
  }
  std::string shown(const std::vector<std::string>& words) const {
    int status = 0;
    const std::string out = on_terminal(words, status);
    EXPECT_EQ(status, 0) << out;
    return out;
  }
  // A model that takes its time.
  std::string large() const {
    const std::string some = write_file(folder + "/some.csv", rows(300, 6));
    call_verb(add_train,
              {"--data", some, "--label", "kind", "--hidden", "900,900", "--epochs", "1", "--model", model});
    return model;
  }
};

TEST_F(VerbProgressSlow, TrainLooksAtColumnsAndComparesALinearModel) {
  const std::string some = rows(20000), lines = some.substr(some.find('\n') + 1);
  std::string text = some;
  for (int i = 0; i < 30; ++i) text += lines;
  const std::string out = shown({"train", "--data", write_file(folder + "/rows.csv", text), "--label", "kind",
                                 "--epochs", "8", "--model", model});
  for (const char* bar :
       {"\r\x1b[2Klooking at columns [", "\r\x1b[2Kepoch 1/8 [", "\r\x1b[2Ka linear model ["})
    EXPECT_NE(out.find(bar), std::string::npos) << bar << "\n" << out;
}

TEST_F(VerbProgressSlow, EvaluateAndQuantizeShowRows) {
  const std::string many = write_file(folder + "/many.csv", rows(40000)),
                    few = write_file(folder + "/few.csv", rows(15000));
  large();
  EXPECT_NE(shown({"evaluate", model, many}).find("\r\x1b[2Kpredicting ["), std::string::npos);
  EXPECT_NE(shown({"quantize", model, "--calibrate", few, "--out", folder + "/small"})
                .find("\r\x1b[2Kmeasuring ranges ["),
            std::string::npos);
}

TEST_F(VerbProgressSlow, ReadingATableShowsHowMuchIsRead) {
  large();
  const std::string pipe = folder + "/pipe.csv", text = rows(60000);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(pipe);
    const auto half = static_cast<std::streamsize>(text.size() / 2);
    out.write(text.data(), half);
    out.flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    out.write(text.data() + half, static_cast<std::streamsize>(text.size()) - half);
  });
  const std::string out = shown({"predict", model, pipe, "--out", folder + "/said.csv"});
  writer.join();
  EXPECT_NE(out.find("\r\x1b[2Kreading "), std::string::npos) << out;
}

}  // namespace
}  // namespace espalier::cli
