// Told which ids a layer has rows for while a call is traced.
#pragma once

#include <string>

#include "espalier/tensor.h"
#include "ir/thread_chain.h"

namespace espalier {

class IdsObserver : public ThreadChain<IdsObserver> {
 public:
  virtual ~IdsObserver() = default;
  // `ids`, symbolic, must lie in [0, count) for the layer at `path`. Whether this one sees to it: then no
  // call of what is traced meets others.
  virtual bool on_ids(const Tensor& ids, int64_t count, const std::string& path) = 0;
};

}  // namespace espalier
