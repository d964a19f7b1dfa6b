// A communicator that is another one, for those that change or count a part of what it does.
#pragma once

#include <espalier/communicator.h>

namespace espalier {

class ForwardingCommunicator : public Communicator {
 public:
  // `of` outlives it.
  explicit ForwardingCommunicator(Communicator& of) : of_(of) {}
  int rank() const override { return of_.rank(); }
  int world() const override { return of_.world(); }
  uint32_t any(uint32_t bits) override { return of_.any(bits); }
  std::shared_ptr<std::byte[]> allocate(size_t bytes) override { return of_.allocate(bytes); }
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override {
    return of_.start(what, data, out);
  }
  void done(uint64_t ticket, ThreadPool& pool) override { of_.done(ticket, pool); }
  void begin_program(std::string_view name) override { of_.begin_program(name); }
  void stage(Stage stage, int64_t number) override { of_.stage(stage, number); }
  void abort(std::string_view why) override { of_.abort(why); }

 protected:
  Communicator& of_;
};

}  // namespace espalier
