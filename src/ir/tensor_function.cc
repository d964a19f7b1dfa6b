#include "espalier/tensor_function.h"

#include "base/format.h"

namespace espalier {

TensorList::TensorList(const Operand& tensor) : at_(tensor.at()) {
  const CallScope scope(at_);
  tensors_.push_back(tensor.tensor());
}

namespace detail {

void empty_function() { throw ValueError("function.empty", "an empty std::function is called"); }

void wrong_argument_count(size_t takes, size_t got) {
  throw ValueError("function.arguments", cat("the function takes ", counted(takes, "tensor"), ", got ", got));
}

}  // namespace detail
}  // namespace espalier
