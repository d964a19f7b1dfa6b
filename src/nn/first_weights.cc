#include "nn/first_weights.h"

#include <utility>

namespace espalier {
namespace {

thread_local FirstWeights* innermost = nullptr;

}  // namespace

std::string path_below(const std::string& path, const std::string& of) {
  const bool below =
      !path.empty() && of.size() > path.size() && of.starts_with(path) && of[path.size()] == '/';
  return below ? of.substr(path.size() + 1) : of;
}

FirstWeights::FirstWeights(FirstValues* first, std::string path)
    : first_(first), path_(std::move(path)), before_(innermost) {
  if (!first_) return;
  innermost = this;
  first_->begin();
}

FirstWeights::~FirstWeights() {
  if (first_) innermost = before_;
}

void FirstWeights::give(Variable made) {
  if (!innermost) return;
  const Tensor value = innermost->first_->of(path_below(innermost->path_, made.path()), made);
  if (value.defined()) made.assign(value);
}

}  // namespace espalier
