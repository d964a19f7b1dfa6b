// A rank's side of the control of its run, as a state machine: see control_coordinator.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/control_message.h"

namespace espalier {

class ControlMember {
 public:
  static constexpr double kBeat = 1;     // seconds between beats
  static constexpr double kAnswer = 30;  // until the coordinator must have answered
  static constexpr double kLate = 1;     // between ticks: this rank itself was not there

  struct Options {
    int rank = 0, world = 1;
    int64_t pid = 0;
    std::string secret = {};
    std::string coordinator = "the launcher";  // as errors call it
    // Seconds without a word of the coordinator, which shows that it is there (ControlLimits::shows), until
    // this rank gives up; 0: it shows nothing.
    double silent = 0;
    // Where it is, as errors call it, and the seconds within which whoever accepts a connection there asks
    // who has come, which a coordinator does at once; 0: kAnswer.
    std::string place = {};
    double greets = 0;
  };
  explicit ControlMember(Options options);

  // Events. `at` is what the rank does at this moment.
  void connected(double now);
  void received(const ControlMessage& message, const StageReport& at);
  // Without a reason it is gone.
  void lost(const std::string& why = {});
  void tick(double now, const StageReport& at);

  // What the rank has to say. Facts may come again once those before are agreed on.
  void describe(std::map<std::string, std::string> facts);
  void failed(const std::string& text, FailureCause cause, const StageReport& at);
  void left(const StageReport& at);
  void preempted(int signal);
  void put(const std::string& key, const std::string& value);
  // Asks for it, once.
  void want(const std::string& key);

  // To be sent, in order, since the last call; nothing until the coordinator has sent its Challenge.
  std::vector<ControlMessage> take();
  // Whether there is more to be sent, now or behind the Challenge.
  bool has_to_say() const { return !out_.empty(); }

  // All ranks have said the same facts as this one at its last describe().
  bool agreed() const { return described_ > 0 && agreed_ == described_; }
  // What some rank has put, when it has come; null.
  const std::string* value(const std::string& key) const;
  // Of the coordinator; of this rank alone where that is gone or does not take it, with an empty id.
  const std::optional<RunVerdict>& verdict() const { return verdict_; }
  // The first signal that any rank got; 0: none.
  int preemption() const { return preemption_; }

 private:
  void look_for_coordinator(double now);
  void look_for_greeting(double now);
  StageReport seen(const StageReport& at) const;
  void give_up(const std::string& why);

  const Options options_;
  std::optional<double> begun_, beat_, ticked_, heard_at_;
  bool heard_ = false;  // since the last tick
  bool answered_ = false, welcome_ = false, over_ = false;
  uint64_t described_ = 0, agreed_ = 0;  // how often
  int preemption_ = 0;
  std::optional<RunVerdict> verdict_;
  std::map<std::string, std::optional<std::string>> values_;  // by key; nothing: asked for
  std::vector<ControlMessage> out_;
};

}  // namespace espalier
