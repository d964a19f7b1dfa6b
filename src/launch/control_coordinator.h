// Finds out which rank broke a run. A state machine without input or output: events go in, actions come out,
// so that the launcher and the simulation run the same code.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/control_end.h"
#include "launch/control_message.h"

namespace espalier {

// Seconds.
struct ControlLimits {
  double collect = 0.3;  // from the first evidence to the verdict, so that a stronger one may come
  double silent = 5;     // without a beat
  double warn = 10;      // without progress; each warning doubles it
  double stalled = 300;  // without progress
  double join = 5;       // from a connection to its first message
  double host = 60;      // until each host must have joined
  double shows = 0;      // between words to ranks, so that they know that it is there; 0: none
};

struct ControlAction {
  struct Send {
    int link = -1;
    ControlMessage message;
  };
  struct Close {  // after what was sent
    int link = -1;
  };
  struct Warn {
    std::string text;
  };
  struct GiveUp {  // comes once; all ranks that are there have been told
    RunVerdict verdict;
    int host = -1;  // that is gone
  };
  struct Preempt {  // a rank got this signal; all ranks have been told
    int rank = -1, signal = 0;
  };
  struct Started {  // of a rank of another host, as are these
    int rank = -1;
    int64_t pid = 0;
  };
  struct Ended {
    int rank = -1;
    ProcessEnd end = {};
    std::string lines = {}, collective = {};
  };
  std::variant<Send, Close, Warn, GiveUp, Preempt, Started, Ended> is;
};

// A host whose agent looks after ranks first, first + 1, ...
struct ControlHost {
  std::string name;
  int first = 0, count = 0;
};

// Times are seconds of one clock that does not go back. A link is a number of the caller's for a connection,
// never used twice.
class ControlCoordinator {
 public:
  struct Options {
    int world = 1;
    std::string secret = {};
    std::string id = {};  // of the verdict
    ControlLimits limits = {};
    std::vector<ControlHost> hosts = {};  // none where the launcher looks after all ranks itself
  };
  explicit ControlCoordinator(Options options);

  // `nonce`: kNonceBytes that no other link has had.
  void connected(int link, std::string nonce, double now);
  void received(int link, const ControlMessage& message, double now);
  // What came over it is none of ours: `why` in words.
  void bad_message(int link, std::string_view why, double now);
  // The other side closed it, or it broke.
  void lost(int link, double now);
  // Of processes on this host.
  void started(int rank, int64_t pid, double now);
  // `last` is what the engine says it did at its end, where somebody knows.
  void ended(int rank, const ProcessEnd& end, const std::optional<StageReport>& last, double now);
  void stopped(int rank, bool is_stopped, double now);
  // The process that the launcher started for this host.
  void agent_ended(int host, const ProcessEnd& end, double now);
  // Time has passed; at least each 100 ms. A caller who is late is no evidence against a rank.
  void tick(double now);

  // Those since the last call, in order.
  std::vector<ControlAction> take();
  const std::optional<RunVerdict>& verdict() const { return verdict_; }
  // A rank's or a host's.
  bool is_known(int link) const { return rank_of_.contains(link) || host_of_.contains(link); }
  // Ranks that have been here.
  int joined() const;
  // What this rank does; nothing where it has not been here.
  std::optional<StageReport> report_of(int rank) const;

 private:
  struct Rank {
    int link = -1;  // -1: not here, or no longer
    bool joined = false, left = false, stopped = false;
    bool exact = false;  // `at` is what it did last
    int64_t pid = 0;
    StageReport at;
    double seen = 0, since = 0;                               // heard of, and when `at` was another
    std::optional<std::map<std::string, std::string>> facts;  // not yet agreed on
    uint64_t compared = 0;                                    // how often it has said some
    std::optional<ControlMessage::Failed> failed;
    std::optional<ProcessEnd> end;
    std::optional<double> failed_at, ended_at, lost_at, left_at;

    bool alive() const { return joined && !left && !failed && !end && !lost_at; }
    bool waits() const { return alive() && at.stage == Stage::kCollective; }
    // It may not have said yet that it has gone on.
    bool compares() const { return waits() && facts && at.collective == kComparison; }
  };
  struct Host {
    int link = -1;
    bool joined = false;
    double seen = 0;
    std::optional<ProcessEnd> end;
    std::optional<double> ended_at, lost_at;
  };
  struct Stranger {  // a link that has not said who it is
    std::string nonce;
    double since = 0;
  };
  struct Evidence {
    VerdictKind kind;
    double when;
    int rank;
    int host = -1;
  };

  void show(double now);
  void pass(double now);
  void join(int link, const ControlMessage::Join& join);
  void join(int link, const ControlMessage::HostJoin& join);
  // Whether it is a message of this host's.
  bool hear_host(int host, const ControlMessage& message, double now);
  bool has_ranks_left(int host) const;
  std::optional<Evidence> against_host(int host) const;
  std::string host_sentence(const Evidence& of) const;
  int host_of(int rank) const;
  void refuse(int link, std::string_view why);
  void report(Rank& rank, const StageReport& at);
  void put(int link, const ControlMessage::Put& put, double now);
  void get(int link, const std::string& key, double now);
  bool keep(int link, size_t bytes, double now);
  void check_facts();
  void send(int link, ControlMessage message);
  void send_all(const ControlMessage& message);
  void suspect();
  bool needed_after_leaving(const Rank& rank) const;
  bool is_stalled(const Rank& rank, double limit) const;
  std::optional<Evidence> against(int rank) const;
  std::optional<double> calls_differ() const;
  std::vector<Evidence> evidence() const;
  enum class Alike { kNo, kNotYet, kYes };
  Alike is_alike(const Evidence& of) const;
  void decide();
  std::string warning() const;
  RunVerdict sentence(const Evidence& of) const;
  RunVerdict sentence_of_all(const Evidence& of) const;
  std::string shared_sentence(const Evidence& of, int& odd) const;
  std::string calls_text(int& odd) const;
  std::string stall_text(int rank) const;
  std::string who(int rank) const;
  std::vector<int> waiting(int without) const;

  const Options options_;
  std::vector<Rank> ranks_;
  std::map<int, Stranger> strangers_;  // links
  std::map<int, int> rank_of_;         // links
  std::vector<Host> hosts_;
  std::map<int, int> host_of_;  // links
  int refused_ = 0, next_told_ = 50;
  // The clock, but for times in which nobody called.
  double time_ = 0;
  std::optional<double> last_;
  double warn_after_;
  std::optional<double> decide_at_;
  bool asked_again_ = false;
  std::optional<double> differ_at_;                 // facts do, since then
  std::map<std::string, std::string> values_;       // what ranks have left for each other
  std::map<std::string, std::vector<int>> wanted_;  // links that wait for these
  size_t kept_ = 0;                                 // bytes of both
  bool preempted_ = false;
  std::optional<RunVerdict> verdict_;
  double shown_ = 0;
  std::vector<ControlAction> actions_;
};

}  // namespace espalier
