#include "comm/shm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "base/write_place.h"
#include "comm/board_layout.h"
#include "comm/control_fd.h"
#include "comm/host.h"
#include "comm/shared_memory.h"

namespace espalier {
namespace {

int make_file(const std::string& name) {
  // Without MFD_CLOEXEC: it is for the programs that this one starts.
  const int descriptor = ::memfd_create(name.c_str(), 0);
  if (descriptor < 0)
    throw RunError("comm.memory", cat("no shared memory for ", name, ": ", std::strerror(errno)));
  return descriptor;
}

// What tells a file from all others of this host.
std::string name_of(const struct stat& status) {
  return cat(static_cast<uint64_t>(status.st_dev), ":", static_cast<uint64_t>(status.st_ino));
}

// "net:[4026531840]".
std::string network_of_process() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/net", none).string();
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// The board that the descriptor is of, as long as somebody holds it.
std::shared_ptr<BoardLayout> map_board(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    throw ValueError("comm.segments", cat("descriptor ", descriptor, " is not open"));
  const auto bytes = static_cast<size_t>(status.st_size);
  void* memory =
      bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED && bytes > 0 && errno == ENOMEM)
    throw RunError("comm.memory", cat("no addresses for the ", bytes,
                                      " bytes of the board of the ranks: ", std::strerror(errno)));
  if (memory == MAP_FAILED)
    throw ValueError("comm.segments",
                     cat("descriptor ", descriptor, " of ", bytes, " bytes is no shared memory"));
  const std::shared_ptr<void> mapping(memory, [bytes](void* at) { ::munmap(at, bytes); });
  return {mapping, find_board(memory, bytes)};
}

}  // namespace

int make_board_segment(int world) {
  if (world < 1 || world > kMaxRanks)
    throw ValueError("comm.world", cat(world, " ranks: a run takes 1 to ", kMaxRanks));
  ControlFd file(make_file("espalier-control"));
  const size_t bytes = board_bytes(world);
  reserve_file(file.get(), 0, bytes, shared_memory_request("the board of the ranks", bytes));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED)
    throw RunError("comm.memory", cat("no addresses for ", bytes, " bytes: ", std::strerror(errno)));
  make_board(memory, world);
  ::munmap(memory, bytes);
  return file.release();
}

std::shared_ptr<BoardLayout> board_layout_at(int descriptor) { return map_board(descriptor); }

std::shared_ptr<Board> board_at(int descriptor) { return std::make_shared<Board>(map_board(descriptor)); }

SharedSegments make_shared_segments(int world) {
  SharedSegments segments;
  try {
    segments.control = make_board_segment(world);
    for (int rank = 0; rank < world; ++rank)
      segments.memory.push_back(make_file(cat("espalier-rank-", rank)));
  } catch (...) {
    close_segments(segments);
    throw;
  }
  return segments;
}

void close_segments(SharedSegments& segments) {
  if (segments.control >= 0) ::close(segments.control);
  for (const int descriptor : segments.memory) ::close(descriptor);
  segments = {};
}

std::string to_string(const SharedSegments& segments) {
  std::string text = cat(segments.control);
  for (const int descriptor : segments.memory) text += cat(",", descriptor);
  return text;
}

SharedSegments parse_shared_segments(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    throw ValueError("comm.segments", cat("\"", shortened(text), "\": ", why));
  };
  SharedSegments segments;
  const char *at = text.data(), *const end = at + text.size();
  for (bool first = true;; first = false) {
    int descriptor = -1;
    const auto [after, error] = std::from_chars(at, end, descriptor);
    if (error != std::errc() || descriptor < 0 || (after != end && *after != ','))
      refuse("not descriptors as \"7,8,9\", of the board and of each rank's memory");
    if (!is_open(descriptor))
      refuse(cat("descriptor ", descriptor, " is not open: what started this program closed it"));
    if (first)
      segments.control = descriptor;
    else
      segments.memory.push_back(descriptor);
    if (after == end) break;
    at = after + 1;
  }
  if (segments.memory.empty()) refuse("one descriptor, which leaves none for a rank's memory");
  return segments;
}

std::string passed_segments(const SharedSegments& segments) {
  struct stat status = {};
  ::fstat(segments.control, &status);
  return cat(static_cast<int64_t>(::getpid()), " ", network_of_process(), " ", name_of(status), " ",
             to_string(segments));
}

std::string open_segments(const std::string& passed, SharedSegments& segments) {
  std::istringstream words(passed);
  int64_t process = 0;
  std::string network, control, numbers;
  words >> process >> network >> control >> numbers;
  // Two of a link between hosts that is played on one.
  if (network != network_of_process()) return "is in another network namespace";
  SharedSegments opened;
  std::string why;
  for (const std::string_view text : split_at(numbers, ',')) {
    int number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    const Descriptor one = open_of_process(process, number);
    const int kept = one ? ::fcntl(one.number(), F_DUPFD_CLOEXEC, 0) : -1;
    if (kept < 0) {
      why = cat("cannot open descriptor ", number, " of process ", process, ": ", std::strerror(errno));
      break;
    }
    (opened.control < 0 ? opened.control : opened.memory.emplace_back()) = kept;
  }
  struct stat status = {};
  // Another process has this number here.
  if (why.empty() && (::fstat(opened.control, &status) != 0 || control != name_of(status)))
    why = "sees other processes than rank 0";
  if (why.empty())
    segments = std::move(opened);
  else
    close_segments(opened);
  return why;
}

std::shared_ptr<Board> shm_board(const SharedSegments& segments) { return board_at(segments.control); }

std::shared_ptr<Communicator> shm_communicator(const SharedSegments& segments, int rank, int world,
                                               int first) {
  std::shared_ptr<BoardLayout> board = map_board(segments.control);
  if (rank < 0 || rank >= world || world != segments.world() || world != static_cast<int>(board->world))
    throw ValueError("comm.world", cat("rank ", rank, " of ", world, " in shared memory of ", board->world,
                                       " ranks with ", segments.world(), " descriptors"));
  for (const int descriptor : segments.memory)
    if (!is_open(descriptor))
      throw ValueError("comm.segments", cat("descriptor ", descriptor, " is not open"));
  return std::make_shared<HostCommunicator>(
      std::move(board), std::make_unique<SharedMemory>(segments.memory, rank), rank, first);
}

}  // namespace espalier
