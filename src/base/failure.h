// How a step of a run says that it failed.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace espalier {

// Of one run. The first failure counts; several threads may report at once.
class Failure {
 public:
  // `what`: a sentence without the op's name: "rank 3 has not answered in 30 s". With a `rule` it is the
  // whole message of the error, for what is no fault of the op.
  void set(std::string_view what, std::string_view rule = {}) {
    if (taken_.exchange(true)) return;
    what_ = what;
    rule_ = rule;
    failed_.store(true, std::memory_order_release);
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // REQUIRES: failed().
  const std::string& what() const { return what_; }
  // Empty: that of every failed run.
  const std::string& rule() const { return rule_; }

 private:
  std::atomic<bool> taken_{false}, failed_{false};
  std::string what_, rule_;
};

}  // namespace espalier
