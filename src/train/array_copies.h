// Copies of what a run changes, for who reads them while it goes on.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "espalier/variable.h"
#include "format/safetensors.h"

namespace espalier {

class ArrayCopies {
 public:
  // The pool, whose helpers copy, outlives it.
  explicit ArrayCopies(ThreadPool& pool) : pool_(pool) {}
  // In the memory of the copies before, which nobody may read any more: new pages cost several times the
  // copy.
  std::vector<NamedArray> of(const std::vector<std::pair<std::string, Variable>>& variables);

 private:
  ThreadPool& pool_;
  std::map<std::string, Literal> kept_;  // by name
};

}  // namespace espalier
