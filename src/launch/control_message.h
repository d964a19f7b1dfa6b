// What ranks and the coordinator of their run tell each other, and how it travels.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <espalier/communicator.h>

#include "launch/control_end.h"

namespace espalier {

// What a rank is doing.
struct StageReport {
  Stage stage = Stage::kStart;
  int64_t number = 0;           // of its kind: a step, an epoch
  uint64_t collectives = 0;     // how many it has begun
  std::string collective = {};  // the last of them: "all-reduce 'gradients/2'"
  std::string function = {};    // whose calls are counted; empty: steps are
  bool operator==(const StageReport&) const = default;
};

// StageReport::collective while a rank waits for the facts of others.
inline constexpr const char* kComparison = "the comparison of what ranks run";

// Why a run is given up, in the order in which evidence counts.
enum class VerdictKind : uint8_t {
  kMismatch,  // ranks do not run the same
  kHost,      // a host is gone, with its ranks
  kKilled,    // a signal ended a rank
  kThrown,    // a rank cannot go on, and says why
  kEnded,     // a rank ended with a status of failure
  kEarly,     // a rank has left while others need it
  kLost,      // a rank's connection broke
  kSilent,    // a rank is not heard of
  kStalled,   // a rank is heard of and does not go on
  kAlike,     // all ranks refuse the same, each by itself, before any step; no evidence but what it comes to
};
// "killed".
std::string_view name(VerdictKind kind);

// The one record of why a run is given up. All ranks get the same.
struct RunVerdict {
  std::string id;  // tells runs and their restarts apart; empty where a rank lost its launcher
  VerdictKind kind = VerdictKind::kKilled;
  int rank = -1;  // the culprit; -1 where no single rank is
  std::string text;
  bool operator==(const RunVerdict&) const = default;
};
// "TEXT (verdict ID)", without an id the text.
std::string to_string(const RunVerdict& verdict);

// Whose fault it is that a rank cannot go on.
enum class FailureCause : uint8_t {
  kOwn,
  kOthers,    // it was told of a verdict, or another rank is gone
  kMismatch,  // collectives that differ: all ranks know it at once, and the text says who is the odd one
  kMeeting,   // ranks have not found each other: no bad input, though all may say the same
};

struct ControlMessage {
  // From ranks. Nothing comes before it but the coordinator's Challenge.
  struct Join {
    std::string proof;  // control_proof.h
    int rank = 0, world = 0;
    int64_t pid = 0;
    bool operator==(const Join&) const = default;
  };
  struct Beat {  // each second, and when asked
    StageReport at;
    bool operator==(const Beat&) const = default;
  };
  struct Facts {  // that must be equal on all ranks; the next ones come behind Agreed
    std::map<std::string, std::string> facts;
    bool operator==(const Facts&) const = default;
  };
  struct Failed {
    std::string text;
    FailureCause cause = FailureCause::kOwn;
    StageReport at;
    bool operator==(const Failed&) const = default;
  };
  struct Left {  // as planned
    StageReport at;
    bool operator==(const Left&) const = default;
  };
  // From ranks, and from the coordinator to all of them: one got this signal.
  struct Preempted {
    int signal = 0;
    bool operator==(const Preempted&) const = default;
  };
  // Texts that ranks leave for each other; of any bytes.
  struct Put {
    std::string key, value;
    bool operator==(const Put&) const = default;
  };
  struct Get {  // answered when it has been put
    std::string key;
    bool operator==(const Get&) const = default;
  };
  // From the agent of a host, which looks after the processes there. It beats, too.
  struct HostJoin {
    std::string proof;
    int host = 0;              // its place in the launcher's list
    std::string name;          // there
    int first = 0, count = 0;  // its ranks
    bool operator==(const HostJoin&) const = default;
  };
  struct RankStarted {
    int rank = 0;
    int64_t pid = 0;
    bool operator==(const RankStarted&) const = default;
  };
  struct RankEnded {
    int rank = 0;
    ProcessEnd end;
    std::optional<StageReport> last = {};  // what it did, where its board knows
    std::string lines = {};                // the last of its standard error, for people
    std::string collective = {};           // its last, for people
    bool operator==(const RankEnded&) const = default;
  };
  struct RankStopped {
    int rank = 0;
    bool is_stopped = false;
    bool operator==(const RankStopped&) const = default;
  };
  // From the coordinator.
  struct Challenge {  // first, on every connection
    std::string nonce;
    bool operator==(const Challenge&) const = default;
  };
  struct Value {
    std::string key, value;
    bool operator==(const Value&) const = default;
  };
  struct Welcome {
    bool operator==(const Welcome&) const = default;
  };
  struct Refused {
    std::string why;
    bool operator==(const Refused&) const = default;
  };
  struct Ask {  // for a Beat
    bool operator==(const Ask&) const = default;
  };
  struct Agreed {  // the facts of all ranks are equal
    bool operator==(const Agreed&) const = default;
  };
  struct GivenUp {
    RunVerdict verdict;
    bool operator==(const GivenUp&) const = default;
  };

  std::variant<Join, Beat, Facts, Failed, Left, Preempted, Put, Get, Value, HostJoin, RankStarted, RankEnded,
               RankStopped, Challenge, Welcome, Refused, Ask, Agreed, GivenUp>
      is;
  bool operator==(const ControlMessage&) const = default;
};

// A frame: the bytes of the rest (4, little-endian), the version (2), the message as JSON.
inline constexpr uint8_t kControlVersion = 2;
inline constexpr size_t kMostFrame = size_t{1} << 16;  // bytes behind the first four
inline constexpr size_t kNonceBytes = 32, kProofBytes = 32;
inline constexpr size_t kLongestKey = 512, kLongestValue = size_t{24} << 10;

// Texts are cut to 8 KiB, and what is no UTF-8 in them becomes U+FFFD. Raises ValueError[control.size] for
// facts that do not fit into a frame, and for longer keys and values than kLongestKey and kLongestValue.
std::string frame_of(const ControlMessage& message);

// Takes bytes as they come and gives messages.
class ControlReader {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // Nothing until a whole frame is there. Raises FormatError[control.frame] for a length that cannot be,
  // [control.version], [control.message], and those of parse_json(); nothing can be read afterwards.
  std::optional<ControlMessage> next();
  // Of frames that have begun.
  size_t waiting() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

}  // namespace espalier
