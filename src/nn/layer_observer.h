// Sees the calls of layers on this thread while it lives.
#pragma once

#include <span>
#include <string>

#include "espalier/layers.h"
#include "ir/thread_chain.h"

namespace espalier {

class LayerObserver : public ThreadChain<LayerObserver> {
 public:
  virtual ~LayerObserver() = default;
  // Around each call, inside of its NameScope; `on_end` is left out for a call that is refused.
  virtual void on_begin(const std::string& path) = 0;
  // `own`: the variables of the layer without those of others that it calls.
  virtual void on_end(std::span<const Variable> own, std::span<const Tensor> outputs) = 0;
};

}  // namespace espalier
