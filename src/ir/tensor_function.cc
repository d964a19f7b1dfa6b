#include "espalier/tensor_function.h"

#include "base/format.h"

namespace espalier::detail {

void empty_function() { throw ValueError("function.empty", "an empty std::function is called"); }

void wrong_argument_count(size_t takes, size_t got) {
  throw ValueError("function.arguments", cat("the function takes ", takes, " tensors, got ", got));
}

}  // namespace espalier::detail
