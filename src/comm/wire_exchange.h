// Collectives between hosts, made of messages: one rank of each host takes part, and says what its host
// gives.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <espalier/communicator.h>

#include "comm/board_layout.h"
#include "comm/calls.h"
#include "comm/slices.h"
#include "comm/wire.h"

namespace espalier {

// Comes before the data of a collective, from each host to each, and carries what is short. Processes of one
// run have one byte order and one version of the library.
struct WireAnnouncement {
  uint64_t sequence = 0, fingerprint = 0, count = 0;
  uint32_t bits = 0;  // of kAny
  int32_t root = 0;
  uint16_t kind = 0;  // CallKind; kLeaves: there will be no more
  std::array<char, 48> name = {};
  std::array<char, 16> type = {};
  uint64_t call = 0;  // of a program
  std::array<char, 32> program = {};
  std::array<std::byte, kPayload> payload = {};
  static constexpr uint16_t kLeaves = 0xffff;
};

// How many ranks each host has, in order: rank 0 is the first of host 0.
struct HostSizes {
  std::vector<int> sizes;
  int hosts() const { return static_cast<int>(sizes.size()); }
  int world() const;
  int first(int host) const;  // its first rank
  int host_of(int rank) const;
};

// One collective. Its memory is there until the job is done.
struct WireJob {
  CallKind kind = CallKind::kBarrier;
  Collective what;
  uint64_t sequence = 0, fingerprint = 0;
  // As of Communicator::start(), but that a host gives what its ranks gave together: of kAllReduce and
  // kReduceScatter their reduction, of kAllGather their elements, in place in `out`. kReduceScatter leaves
  // those of the host's ranks in `data`.
  std::byte *data = nullptr, *out = nullptr;
  uint32_t bits = 0;             // of kAny: what the host's ranks say, and what all say
  std::byte* scratch = nullptr;  // as many bytes as scratch_bytes() says

  // Of the exchange.
  enum class Stage : uint8_t { kMeet, kGive, kGiven, kTake, kSent, kDone } stage = Stage::kMeet;
  std::unique_ptr<WireAnnouncement> own = {};
  std::vector<int> receives = {}, sends = {}, results = {};  // handles; `results` are the second half's
  size_t next = 0, sent = 0;  // of the handles that are waited for; of `sends` those that are done
  size_t given = 0;           // how many of `sends` are of the first half
  size_t piece = 0;           // of the part that is reduced here, the next one
  bool leaves = false;        // it says that no more will come
};

class WireExchange {
 public:
  // `peers`: the rank on the wire of each host; of this one its own.
  WireExchange(Wire& wire, HostSizes hosts, int host, std::vector<int> peers);

  // What a job of this kind works in.
  size_t scratch_bytes(CallKind kind, const Collective& what) const;
  // Begins: the next one in sequence, from 0.
  void post(WireJob& job);
  enum class Progress : uint8_t { kDone, kWoken, kBroken, kMismatch };
  // Works until it is done, or somebody wakes the wire. Jobs are finished in sequence.
  Progress advance(WireJob& job);
  // Behind kMismatch and kBroken: what there is to say.
  const std::string& why() const { return why_; }
  // Whether the calls differ since a host leaves: its ranks have ended, which others know more of.
  bool has_left() const { return left_; }
  // Says that this host goes, and waits until the others are as far, so that nothing is lost on its way: a
  // connection that one end closes takes along what the other has not read. Behind the last job.
  void leave();

 private:
  static constexpr uint64_t kAhead = 4;  // announcements that are received before they are due

  bool is_short(CallKind kind, const Collective& what) const;
  // Whether each host reduces all of it: one way in place of two.
  bool is_whole(CallKind kind, const Collective& what) const;
  bool in_pieces(const WireJob& job) const;
  // Elements that `host` works on: of kAllGather what it gives, of what is whole all.
  ElementRange part_of(int host, CallKind kind, const Collective& what) const;
  WireAnnouncement& announced(int host, uint64_t sequence);
  void expect(uint64_t sequence);
  void send(std::vector<int>& to, int host, const WireJob& job, unsigned phase, const std::byte* data,
            size_t bytes, size_t piece = 0);
  void receive(std::vector<int>& to, int host, const WireJob& job, unsigned phase, std::byte* data,
               size_t bytes, size_t piece = 0);
  void give_to_reduce(WireJob& job);
  void announce(WireJob& job);
  void give(WireJob& job);
  bool agree(const WireJob& job);
  void combine_short(WireJob& job);
  void pass_on(WireJob& job);
  void combine(WireJob& job, ElementRange part);
  bool combine_piece(WireJob& job);
  void take(WireJob& job);
  Progress wait_for(WireJob& job);
  std::byte* received(const WireJob& job, int host) const;
  template <class Body>
  void for_others(const Body& body) const {
    // Not all begin with the same one.
    for (int i = 1; i < hosts_.hosts(); ++i) body((host_ + i) % hosts_.hosts());
  }

  Wire& wire_;
  const HostSizes hosts_;
  const int host_;
  const std::vector<int> peers_;
  uint64_t expected_ = 0, posted_ = 0;                               // announcements, jobs
  std::vector<std::array<WireAnnouncement, kAhead>> announcements_;  // of each host
  std::vector<std::array<int, kAhead>> announcement_handles_;
  bool broken_ = false, left_ = false;
  std::string why_;
};

}  // namespace espalier
