// What variables begin with that are made later, as those of a checkpoint that was read before them.
#pragma once

#include <string>

#include "espalier/variable.h"

namespace espalier {

class FirstValues {
 public:
  virtual ~FirstValues() = default;
  // Variables are about to be made, perhaps not for the first time: what was made before was refused.
  virtual void begin() {}
  // Of a variable that was just made, by its name below its owner; undefined: it keeps its own. An exception
  // refuses the variable.
  virtual Tensor of(const std::string& name, const Variable& made) = 0;
  // All were made.
  virtual void end() {}
};

}  // namespace espalier
