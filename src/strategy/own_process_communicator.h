// A worker's communicator, for its process alone: a child that is forked would speak in its parent's place.
#pragma once

#include "base/own_process.h"
#include "comm/forwarding.h"

namespace espalier {

// In a child calls that others wait for raise StateError[strategy.forked], and the rest say nothing.
class OwnProcessCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  bool forked() const { return process_.forked(); }
  // Raises StateError[strategy.forked] in a child.
  void require_parent() const;

  uint32_t any(uint32_t bits) override;
  std::shared_ptr<std::byte[]> allocate(size_t bytes) override;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override;
  void done(uint64_t ticket, ThreadPool& pool) override;
  void stage(Stage stage, int64_t number) override;
  void abort(std::string_view why) override;

 private:
  const OwnProcess process_;
};

}  // namespace espalier
