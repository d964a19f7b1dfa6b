#include "strategy/own_process_communicator.h"

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

void OwnProcessCommunicator::require_parent() const {
  if (!forked()) return;
  throw StateError("strategy.forked",
                   cat("this process was forked by rank ", rank(), " of ", world(),
                       ", which goes on and alone speaks for the rank"),
                   "let the child compute outside of the strategy, with a model that it loads itself, or "
                   "start a program anew (exec)");
}

uint32_t OwnProcessCommunicator::any(uint32_t bits) {
  require_parent();
  return of_.any(bits);
}

std::shared_ptr<std::byte[]> OwnProcessCommunicator::allocate(size_t bytes) {
  require_parent();
  return of_.allocate(bytes);
}

uint64_t OwnProcessCommunicator::start(const Collective& what, std::byte* data, std::byte* out) {
  require_parent();
  return of_.start(what, data, out);
}

void OwnProcessCommunicator::done(uint64_t ticket, ThreadPool& pool) {
  require_parent();
  of_.done(ticket, pool);
}

void OwnProcessCommunicator::stage(Stage stage, int64_t number) {
  if (!forked()) of_.stage(stage, number);
}

void OwnProcessCommunicator::abort(std::string_view why) {
  if (!forked()) of_.abort(why);
}

}  // namespace espalier
