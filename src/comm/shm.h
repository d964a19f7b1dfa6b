// Ranks that are processes of one host. They meet in memory that has no name on disk: the launcher makes it,
// its children inherit the descriptors, and the system takes it back with the last of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <espalier/communicator.h>

#include "comm/board.h"

namespace espalier {

// Descriptors, which a program started by this one gets.
struct SharedSegments {
  int control = -1;         // of the board
  std::vector<int> memory;  // one a rank
  int world() const { return static_cast<int>(memory.size()); }
};

// Raises ValueError[comm.world] unless `world` is 1 to 256, RunError[comm.memory] where the system gives
// none.
SharedSegments make_shared_segments(int world);
// In this process; others keep theirs.
void close_segments(SharedSegments& segments);

// "7,8,9", for an environment variable: control, then each rank's.
std::string to_string(const SharedSegments& segments);
// Raises ValueError[comm.segments] for another text, and where a descriptor is not open here.
SharedSegments parse_shared_segments(std::string_view text);

// For processes of this host that this one did not start: where they find the descriptors while it has them,
// and what tells them from others.
std::string passed_segments(const SharedSegments& segments);
// "" where they are open here now, or why not: "is in another network namespace" and the like. REQUIRES: a
// text of passed_segments().
std::string open_segments(const std::string& passed, SharedSegments& segments);

// For the launcher, and whoever else has the descriptors. Raises ValueError[comm.segments] unless they are of
// make_shared_segments() of this version of the library.
std::shared_ptr<Board> shm_board(const SharedSegments& segments);

// A board by itself, for ranks of which other hosts have some: it has a block of each, and those of this host
// write into theirs. The descriptor is one that started programs get. Raises as make_shared_segments().
int make_board_segment(int world);
// Raises ValueError[comm.segments] unless it is of make_board_segment() of this version of the library.
std::shared_ptr<Board> board_at(int descriptor);
// What is behind it, for an engine.
std::shared_ptr<BoardLayout> board_layout_at(int descriptor);

// This process as `rank`, once. `first`: the number in the run of rank 0, where others are on other hosts. It
// needs `segments` no longer: close them, so that no program started by this one gets them. Raises
// ValueError[comm.segments], [comm.world] unless 0 <= rank < world and the segments are of `world` ranks,
// RunError[comm.memory].
std::shared_ptr<Communicator> shm_communicator(const SharedSegments& segments, int rank, int world,
                                               int first = 0);

}  // namespace espalier
