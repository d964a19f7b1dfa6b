#include "espalier/communicator.h"

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

std::shared_ptr<std::byte[]> Communicator::allocate(size_t bytes) {
  return std::shared_ptr<std::byte[]>(new (std::align_val_t{64}) std::byte[bytes](), [](std::byte* memory) {
    ::operator delete[](memory, std::align_val_t{64});
  });
}

uint64_t Communicator::start(const Collective& what, std::byte*, std::byte*) {
  throw UnsupportedError("comm.collective", cat("this communicator of ", world(),
                                                " ranks moves no arrays: \"", what.name, "\""));
}

void Communicator::done(uint64_t, ThreadPool&) {
  throw UnsupportedError("comm.collective", "this communicator moves no arrays");
}

}  // namespace espalier
