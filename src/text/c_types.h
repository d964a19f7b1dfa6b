// Types, numbers and constant arrays in C.
#pragma once

#include <string>

#include "ir/literal.h"

namespace espalier::c_text {

// REQUIRES: neither f16 nor bf16.
std::string c_type(DType dtype);
// The type in which sums and products of a dtype are made: that of its size without a sign, since those wrap.
std::string sum_type(DType dtype);
// One element, in brackets where an operator before it would bind otherwise.
std::string number(DType dtype, const void* element);
std::string number(DType dtype, double value);
// "static const TYPE name[n] = {...};"
std::string array(const std::string& name, DType dtype, const void* elements, int64_t count);
// The literal with one element along each axis on which all elements repeat, and the strides of its elements
// by the old axes: 0 along those.
Literal without_repeats(const Literal& literal, Dims& strides);
// Text that can stand in a comment.
std::string comment_text(const std::string& text);

}  // namespace espalier::c_text
