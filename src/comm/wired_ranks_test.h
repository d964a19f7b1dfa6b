// Communicators of several hosts in one process, for tests.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "comm/local.h"
#include "comm/wire_communicator.h"
#include "comm/wire_loop_test.h"

namespace espalier {

// Ranks of hosts of these sizes, as threads.
struct WiredRanks {
  // `verdict_within`: WirePlace::verdict_within, seconds.
  explicit WiredRanks(const std::vector<int>& sizes, double verdict_within = 0)
      : hosts{sizes}, loop(hosts.hosts()), board(board_of_process(hosts.world())) {
    std::vector<std::shared_ptr<Communicator>> inner;
    for (const int size : sizes) {
      for (const auto& one : local_communicators(size, static_cast<int>(inner.size())))
        inner.push_back(size > 1 ? one : nullptr);
    }
    ranks.resize(inner.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < hosts.world(); ++rank) {
      threads.emplace_back([&, rank] {
        const int host = hosts.host_of(rank);
        WirePlace place{.rank = rank,
                        .hosts = hosts,
                        .inner = inner[static_cast<size_t>(rank)],
                        .verdict_within = verdict_within};
        if (rank == hosts.first(host)) place.connect = [this, host] { return loop.wire(host); };
        ranks[static_cast<size_t>(rank)] = std::make_shared<WireCommunicator>(board, place);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  // Each leaves on a thread of its own, as processes do.
  ~WiredRanks() {
    std::vector<std::thread> threads;
    for (auto& rank : ranks) threads.emplace_back([&] { rank.reset(); });
    for (std::thread& thread : threads) thread.join();
  }

  const HostSizes hosts;
  WireLoop loop;
  std::shared_ptr<BoardLayout> board;
  std::vector<std::shared_ptr<Communicator>> ranks;
};

}  // namespace espalier
