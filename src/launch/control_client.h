// A rank's side of the control of its run: a thread that says each second what the rank does, and hears of
// the verdict.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/control_fd.h"
#include "comm/wire.h"
#include "launch/control_link.h"
#include "launch/control_member.h"

namespace espalier {

// Called on the client's thread, but for `report`, which any thread may call. They may not call the client,
// nor throw.
struct ControlHooks {
  std::function<StageReport()> report = {};
  // Once: the run is given up. For the engine's abort.
  std::function<void(const RunVerdict&)> on_verdict = {};
  // Once: a rank got this signal, and all are to save and go.
  std::function<void(int signal)> on_preemption = {};
};

class ControlClient {
 public:
  // What `espalier launch` has put into ESPALIER_CONTROL, ESPALIER_SECRET, which is taken out of it
  // (control_secret.h), ESPALIER_RANK and ESPALIER_WORLD; null without ESPALIER_CONTROL. Raises
  // ValueError[control.environment], and as the constructor.
  static std::unique_ptr<ControlClient> from_environment(ControlHooks hooks);
  // Raises what connect_to() does.
  ControlClient(const std::string& address, ControlMember::Options options, ControlHooks hooks);
  // A rank that has not said that it leaves or fails is missed.
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // Before the first step of each run of fit: returns when all ranks have said the same. Raises
  // RunError[comm.verdict] with the sentence where they differ or the run is given up,
  // ValueError[control.size].
  void describe(std::map<std::string, std::string> facts);
  // This rank cannot go on. Returns when that is on its way, so that whoever hears of it from the engine
  // comes later.
  void failed(const std::string& text, FailureCause cause);
  // This rank has done what it had to. The first of failed() and left() counts.
  void left();
  // This rank got this signal. Not from its handler.
  void preempted(int signal);
  // Leaves it for other ranks while the run lasts; the first that is put for a key counts. Any thread. Raises
  // ValueError[control.size] beyond kLongestKey and kLongestValue.
  void put(const std::string& key, const std::string& value);
  // Waits until some rank has put it. Any thread. Raises RunError[comm.join] after so many seconds, with the
  // rank where the key ends with "/RANK"; [comm.verdict]; ValueError[control.size].
  std::string get(const std::string& key, double seconds);

  std::optional<RunVerdict> verdict() const;
  // Waits for it, at most so long.
  std::optional<RunVerdict> wait_for_verdict(double seconds) const;

 private:
  void run();
  void flush(std::unique_lock<std::mutex>& lock);
  void wait_until_sent(std::unique_lock<std::mutex>& lock);
  void wake() const;

  const ControlHooks hooks_;
  ControlFd wake_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Below: of whoever holds mutex_.
  ControlMember member_;
  ControlLink link_;
  bool cut_ = false;  // nothing can be sent
  bool gone_ = false, closing_ = false;
  std::thread thread_;
};

// What ranks of a run leave for each other, as a KeyStore; `client` outlives it. For any thread.
class ControlKeys : public KeyStore {
 public:
  static constexpr double kJoin = 60;

  // A key is waited for at most so many seconds.
  explicit ControlKeys(ControlClient& client, double seconds = kJoin) : client_(client), seconds_(seconds) {}
  void put(const std::string& key, const std::string& value) override { client_.put(key, value); }
  std::string get(const std::string& key) override { return client_.get(key, seconds_); }

 private:
  ControlClient& client_;
  const double seconds_;
};

}  // namespace espalier
