// Memory of ranks that are processes: a file without a name for each, of which every process sees all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/host_memory.h"

namespace espalier {

// A file in memory, seen through more addresses than it has bytes yet: what it grows by is there at once.
class FileView {
 public:
  // Raises RunError[comm.memory] where the process has no addresses left.
  FileView(int descriptor, size_t addresses);
  ~FileView();
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;
  std::byte* begin() const { return begin_; }
  size_t addresses() const { return addresses_; }

 private:
  std::byte* begin_;
  size_t addresses_;
};

// Gives out pages of this rank's file, which grows by what is asked for and is not cut again.
class SharedFile {
 public:
  // Keeps a copy of the descriptor that no started program gets.
  SharedFile(int descriptor, int rank, size_t addresses);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  // Raises RunError[comm.memory].
  std::byte* take(size_t bytes, bool zeros);
  void give_back(std::byte* data, size_t bytes);
  const FileView& view() const { return view_; }

 private:
  void grow(size_t bytes, const std::string& request);
  void add_free(size_t offset, size_t bytes);

  const int descriptor_, rank_;
  const FileView view_;
  std::mutex mutex_;
  size_t end_ = 0;
  std::map<size_t, size_t> free_;  // offset and bytes; no two touch each other
};

class SharedMemory final : public HostMemory {
 public:
  // One descriptor a rank.
  SharedMemory(const std::vector<int>& descriptors, int rank);
  std::shared_ptr<std::byte[]> allocate(size_t bytes, bool zeros) override;
  uint64_t place_of(const std::byte* data, size_t bytes) const override;
  std::byte* at(int rank, uint64_t place, size_t bytes) override;
  bool of_one_process() const override { return false; }

 private:
  std::shared_ptr<SharedFile> own_;               // what is allocated keeps it
  std::vector<std::unique_ptr<FileView>> views_;  // null for the own one
};

// "rank 1 asks for 8192 bytes of shared memory".
std::string shared_memory_request(const std::string& whose, size_t bytes);
// Puts memory behind [begin, begin + bytes) of the file, which grows where it is shorter. Raises
// RunError[comm.memory] where there is none: `request` and why. No process gets a signal for it.
void reserve_file(int descriptor, size_t begin, size_t bytes, const std::string& request);

}  // namespace espalier
