// Between the attributes of an op and their MLIR text.
#pragma once

#include <functional>

#include "ir/graph.h"
#include "text/attribute_value.h"

namespace espalier::text {

// What a word that stands for a region does: "sum" for a region that adds.
bool is_region_word(std::span<const char* const> words);

// Fills `attributes` of the op `name` at `offset` (for messages) from `given`. Fields "dtype", "type" and
// "shape" that are not given come from the first result type. An undotted name that no field takes raises
// FormatError, unless it never changes values (precision_config, is_stable, ...).
void read_fields(const Lexer& lexer, std::string_view name, size_t offset, Attributes& attributes,
                 const std::vector<NamedAttribute>& given, const std::vector<TensorType>& results);

// "{a = .., b = ..}" of a StableHLO op: what the result types or the regions say is left out, what StableHLO
// does not know is prefixed with "espalier.". "" when nothing is left.
std::string attributes_text(const OpDef& op, const AttributesPtr& attributes);
// "{a = .., b = ..}" of a composite: every field.
std::string composite_attributes_text(const AttributesPtr& attributes);

}  // namespace espalier::text
