// Collectives of ranks on several hosts: those of one host meet in its memory, and its first rank speaks for
// them over a wire.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <espalier/communicator.h>

#include "comm/board.h"
#include "comm/board_layout.h"
#include "comm/wire.h"
#include "comm/wire_exchange.h"

namespace espalier {

struct WirePlace {
  int rank = 0;
  HostSizes hosts;
  // Of the ranks of this host, this one's; null where it is alone there.
  std::shared_ptr<Communicator> inner = {};
  // Gives the wire, on the thread that uses it; empty where this rank needs none. What it raises comes to
  // whoever makes the communicator.
  std::function<std::unique_ptr<Wire>()> connect = {};
  // Seconds after which connect() is given up, and before that by a verdict, though it has not come back: its
  // thread is left behind, so that all that it uses is its own. 0: it comes back in any case.
  double join_within = 0;
  // The rank of each host on the wire; empty: their numbers.
  std::vector<int> peers = {};
  // How long a verdict is waited for where the wire breaks, which says who broke it: seconds.
  double verdict_within = 0;
};

// A thread moves the bytes: a collective goes on as soon as it has begun, whatever this rank computes
// meanwhile. It does what the calls ask for in their order, which is the same on all ranks: at start() what
// the ranks of a host give comes together and sets off, at done() what has come is given to all of them. An
// element is reduced in the order of ranks on each host, and then in the order of hosts.
//
// One thread calls it; abort() may be any.
class WireCommunicator final : public Communicator {
 public:
  // `board` has a block for each rank of the world, of which this one writes its own. Raises what connect()
  // does, RunError[comm.join] after join_within, [comm.verdict].
  WireCommunicator(std::shared_ptr<BoardLayout> board, WirePlace place);
  // With collectives that are not done it is an abort().
  ~WireCommunicator() override;

  int rank() const override { return place_.rank; }
  int world() const override { return static_cast<int>(layout_->world); }
  uint32_t any(uint32_t bits) override;
  std::shared_ptr<std::byte[]> allocate(size_t bytes) override;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override;
  void done(uint64_t ticket, ThreadPool& pool) override;
  void begin_program(std::string_view name) override { program_.begin(name); }
  void stage(Stage stage, int64_t number) override;
  void abort(std::string_view why) override;

  const std::shared_ptr<Board>& board() const { return board_; }
  // "gloo over 10.9.0.1"; "" without a wire.
  const std::string& wire_name() const { return wire_name_; }

 private:
  struct Call {
    std::string name, type, program;
    WireJob job;
    std::byte* out = nullptr;
    size_t scratch_bytes = 0;
    std::unique_ptr<std::byte[]> scratch = {};
    bool done = false;  // of whoever holds mutex_
  };
  struct Command {
    Call* call;
    bool finishes;  // else it begins
  };
  struct Failure {
    std::string rule, what;
  };

  void check();
  uint64_t begin(CallKind kind, const Collective& what, std::byte* data, std::byte* out, uint32_t bits);
  void finish(uint64_t ticket);
  [[noreturn]] void raise_failure();
  void tell(Command command);

  struct Joining;
  void wait_for(Joining& joining);

  // Of the thread.
  void run(std::unique_ptr<Wire> wire);
  void serve();
  void begin_on_host(Call& call);
  void end_on_host(Call& call);
  void advance(std::unique_lock<std::mutex>& lock, const Call* until);
  void fail(const std::string& rule, const std::string& what);

  const std::shared_ptr<BoardLayout> layout_;
  const std::shared_ptr<Board> board_;
  const WirePlace place_;
  const int host_;
  RankBlock& block_;
  std::string wire_name_;
  std::deque<std::unique_ptr<Call>> calls_;  // begun and not done
  uint64_t begun_ = 0, finished_ = 0;
  int64_t step_ = 0;
  ProgramCall program_;
  std::multimap<size_t, std::unique_ptr<std::byte[]>> scratch_;  // by bytes; of calls that are done

  std::mutex mutex_;
  std::condition_variable told_, changed_;
  // Below: of whoever holds mutex_, but for what the wire points to.
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<WireExchange> exchange_;
  std::deque<Command> commands_;
  std::deque<Call*> under_way_;
  bool connected_ = false, over_ = false, aborted_ = false, closing_ = false;
  std::exception_ptr refused_;
  std::unique_ptr<Failure> failure_;
  bool peer_left_ = false;  // what failed since ranks of another host have ended
  std::thread thread_;
};

}  // namespace espalier
