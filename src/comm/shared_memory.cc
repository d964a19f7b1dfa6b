#include "comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"

namespace espalier {
namespace {

constexpr size_t kPage = 4096;

// Of bytes below it none overflows when it is rounded to pages.
constexpr size_t kMost = size_t{1} << 46;

size_t whole_pages(size_t bytes) { return std::max<size_t>(1, (bytes + kPage - 1) / kPage) * kPage; }

// Of /proc/meminfo and of this process's group; the largest number where they do not tell.
size_t available_memory() {
  size_t available = std::numeric_limits<size_t>::max();
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;)
    if (size_t kib; word == "MemAvailable:" && info >> kib) available = kib * 1024;
  size_t most, used;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> most &&
      std::ifstream("/sys/fs/cgroup/memory.current") >> used)
    available = std::min(available, most - std::min(used, most));
  return available;
}

[[noreturn]] void refuse(const std::string& request, const std::string& why) {
  throw RunError("comm.memory", cat(request, ": ", why));
}

// More than any rank can fill, as far as this process may have addresses for all ranks and for itself.
size_t addresses_of_one(size_t world) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t addresses = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const size_t left = limit.rlim_cur - std::min<size_t>(limit.rlim_cur, pages * page);
    addresses = std::min(addresses, left / (2 * world));
  }
  return addresses / kPage * kPage;
}

}  // namespace

std::string shared_memory_request(const std::string& whose, size_t bytes) {
  return cat(whose, " asks for ", bytes, " bytes of shared memory");
}

void reserve_file(int descriptor, size_t begin, size_t bytes, const std::string& request) {
  // Beyond this limit the process would get SIGXFSZ, and beyond memory that of another one.
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      begin + bytes > limit.rlim_cur)
    refuse(request, cat("its file may have ", limit.rlim_cur, " bytes (ulimit -f), and has ", begin));
  if (const size_t available = available_memory(); bytes > available)
    refuse(request, cat(available, " bytes are free"));
  int reason;
  do {
    reason = ::posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  } while (reason == EINTR);
  if (reason != 0) refuse(request, cat(std::strerror(reason), ", ", available_memory(), " bytes are free"));
}

FileView::FileView(int descriptor, size_t addresses) : addresses_(addresses) {
  void* begin = ::mmap(nullptr, addresses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (begin == MAP_FAILED)
    throw RunError("comm.memory", cat("no addresses for ", addresses,
                                      " bytes of a rank's shared memory: ", std::strerror(errno)));
  begin_ = static_cast<std::byte*>(begin);
}

FileView::~FileView() { ::munmap(begin_, addresses_); }

SharedFile::SharedFile(int descriptor, int rank, size_t addresses)
    : descriptor_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), rank_(rank), view_(descriptor, addresses) {
  if (descriptor_ < 0)
    throw RunError("comm.memory",
                   cat("no descriptor for the memory of rank ", rank, ": ", std::strerror(errno)));
}

SharedFile::~SharedFile() { ::close(descriptor_); }

void SharedFile::grow(size_t bytes, const std::string& request) {
  if (bytes > view_.addresses() - end_)
    refuse(request, cat("it has ", end_, " bytes, and addresses for ", view_.addresses()));
  reserve_file(descriptor_, end_, bytes, request);
  add_free(end_, bytes);
  end_ += bytes;
}

std::byte* SharedFile::take(size_t bytes, bool zeros) {
  const std::string request = shared_memory_request(cat("rank ", rank_), bytes);
  if (bytes > kMost) refuse(request, "no machine has as many");
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(free_, [&](const auto& extent) { return extent.second >= bytes; });
  if (found == free_.end()) {
    const auto last = free_.empty() ? free_.end() : std::prev(free_.end());
    const bool at_end = last != free_.end() && last->first + last->second == end_;
    grow(at_end ? bytes - last->second : bytes, request);
    found = std::prev(free_.end());
  }
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  std::byte* const data = view_.begin() + offset;
  if (zeros) std::memset(data, 0, bytes);
  return data;
}

void SharedFile::give_back(std::byte* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  add_free(static_cast<size_t>(data - view_.begin()), whole_pages(bytes));
}

void SharedFile::add_free(size_t offset, size_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin())
    if (const auto before = std::prev(next); before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  free_.emplace(offset, bytes);
}

SharedMemory::SharedMemory(const std::vector<int>& descriptors, int rank) : views_(descriptors.size()) {
  const size_t addresses = addresses_of_one(descriptors.size());
  for (size_t i = 0; i < descriptors.size(); ++i) {
    if (i == static_cast<size_t>(rank))
      own_ = std::make_shared<SharedFile>(descriptors[i], rank, addresses);
    else
      views_[i] = std::make_unique<FileView>(descriptors[i], addresses);
  }
}

std::shared_ptr<std::byte[]> SharedMemory::allocate(size_t bytes, bool zeros) {
  std::byte* data = own_->take(bytes, zeros);
  return {data, [file = own_, bytes](std::byte* at) { file->give_back(at, bytes); }};
}

uint64_t SharedMemory::place_of(const std::byte* data, size_t bytes) const {
  const std::byte* begin = own_->view().begin();
  const std::byte* end = begin + own_->view().addresses();
  if (std::less<>()(data, begin) || std::less<>()(end, data + bytes)) return kNowhere;
  return static_cast<uint64_t>(data - begin);
}

std::byte* SharedMemory::at(int rank, uint64_t place, size_t bytes) {
  const FileView& view = *views_[static_cast<size_t>(rank)];
  if (place + bytes > view.addresses())
    throw RunError("comm.memory", cat("no addresses for byte ", place + bytes, " of what rank ", rank,
                                      " shares: this process has ", view.addresses(), " for each rank"));
  return view.begin() + place;
}

}  // namespace espalier
