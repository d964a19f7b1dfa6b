// Attributes and types as MLIR text has them, before an op says what they mean.
#pragma once

#include <memory>
#include <vector>

#include "ir/literal.h"
#include "text/lexer.h"

namespace espalier::text {

struct NamedAttribute;

struct AttributeValue {
  enum Kind : uint8_t {
    kUnit,      // a name without a value
    kBool,      // integer is 0 or 1
    kInteger,   // 2 : i64
    kReal,      // 0.5 : f32
    kString,    // string
    kWord,      // #stablehlo<kind WORD>: string is WORD
    kSymbol,    // @name: string
    kIntegers,  // array<i64: ...> or a list of integers
    kList,      // [a, b]
    kDict,      // {a = b}
    kStruct,    // #stablehlo.dot<a = [..]>: entries as kDict
    kLiteral,   // dense<...> : tensor<...>
    kDType,     // f32
    kType,      // tensor<...>, or a function type: inputs first, `integer` of them
    kOpaque,    // anything else, skipped
  };
  Kind kind = kOpaque;
  size_t offset = 0;
  int64_t integer = 0;
  double real = 0;
  std::string string;
  Dims integers;
  std::vector<AttributeValue> items;
  std::vector<NamedAttribute> entries;
  std::shared_ptr<const Literal> literal;
  std::vector<TensorType> types;

  // The entry of this name, or null.
  const AttributeValue* find(std::string_view name) const;
};

struct NamedAttribute {
  std::string name;
  AttributeValue value;
};

// What to do about sizes that are chosen at run time.
inline constexpr std::string_view kFixedSizes =
    "export for fixed sizes, in JAX with numbers where there are symbolic sizes: "
    "jax.export.export(jax.jit(f))("
    "jax.ShapeDtypeStruct((32, 8), jax.numpy.float32))";
// "tensor<2x3xf32>". Raises FormatError naming what is not supported (dynamic sizes, quantised types, ...).
TensorType parse_tensor_type(Lexer& lexer);
// T, (T, T) or ().
std::vector<TensorType> parse_types(Lexer& lexer);
// A function type: inputs, then results.
std::pair<std::vector<TensorType>, std::vector<TensorType>> parse_function_type(Lexer& lexer);
AttributeValue parse_attribute(Lexer& lexer);
// "{a = b, c}", at the opening brace; appends to `out`.
void parse_dictionary(Lexer& lexer, std::vector<NamedAttribute>& out);

}  // namespace espalier::text
