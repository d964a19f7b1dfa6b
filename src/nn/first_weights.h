// Weights of layers that begin with values that were there before them.
#pragma once

#include <memory>
#include <string>

#include "eager/first_values.h"
#include "espalier/layers.h"

namespace espalier {

// Weights of `layer` and of those below that are made in its first call begin with `first`. REQUIRES: it has
// made none.
void begin_with(const Layer& layer, std::shared_ptr<FirstValues> first);

// The first call of a layer by this path; of none where `first` is null.
class FirstWeights {
 public:
  FirstWeights(FirstValues* first, std::string path);
  ~FirstWeights();
  FirstWeights(const FirstWeights&) = delete;
  FirstWeights& operator=(const FirstWeights&) = delete;
  // Gives a weight that was just made in the innermost of them its value.
  static void give(Variable made);

 private:
  FirstValues* const first_;
  const std::string path_;
  FirstWeights* const before_;
};

// The path of what lies below `path`, seen from there; of others their whole path.
std::string path_below(const std::string& path, const std::string& of);

}  // namespace espalier
