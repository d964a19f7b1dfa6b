// Refused calls change nothing: what layers build is forgotten when an exception passes.
#pragma once

#include <cstddef>
#include <functional>

namespace espalier {

// When an exception ends it, all that layers of this thread built and connected since its begin is undone.
class BuildTransaction {
 public:
  BuildTransaction();
  ~BuildTransaction();
  BuildTransaction(const BuildTransaction&) = delete;
  BuildTransaction& operator=(const BuildTransaction&) = delete;
  // Tells the innermost transaction how to undo what has just been done; `undo` does not throw.
  static void on_refusal(std::function<void()> undo);
  // From now on it undoes without an exception, too.
  void forget();
  // Whether what is built now will be forgotten in any case.
  static bool forgets();

 private:
  size_t begin_;
  int exceptions_;
  bool forgets_ = false;
};

}  // namespace espalier
