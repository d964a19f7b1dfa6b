// Array literals in MLIR text: what stands between the brackets of dense<...>.
#pragma once

#include "ir/literal.h"
#include "text/lexer.h"

namespace espalier::text {

// "tensor<2x3xf32>".
std::string type_text(const TensorType& type);
// A scalar as it stands in dense<>: shortest decimal that reads back to the same bits, bit pattern in
// hexadecimal when it is not finite, true or false.
std::string scalar_text(DType dtype, const void* element);
// "dense<...> : tensor<...>": splats and scalars by one element, bool by words, everything else as a blob of
// little-endian bytes in hexadecimal.
void append_dense(std::string& out, const Literal& literal);

// At the token after "dense<", reads a body of `type` up to the closing '>', not included.
Literal parse_dense_body(Lexer& lexer, const TensorType& type);

}  // namespace espalier::text
