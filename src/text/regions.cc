#include "text/regions.h"

#include <cstring>

namespace espalier::text {
namespace {

struct WordOp {
  std::string_view word;
  const char* op;
};
constexpr WordOp kWordOps[] = {{"sum", "add"}, {"prod", "multiply"}, {"max", "maximum"}, {"min", "minimum"},
                               {"and", "and"}, {"or", "or"},         {"xor", "xor"},     {"update", ""}};

}  // namespace

const char* word_op(std::string_view word) {
  for (const WordOp& known : kWordOps) {
    if (known.word == word) return known.op;
  }
  return nullptr;
}

int region_word(std::string_view owner, const Graph& region, std::span<const char* const> words) {
  const size_t count = region.outputs().size();
  if (count == 0 || (count > 1 && owner != "scatter") || region.inputs().size() != 2 * count) return -1;
  const char* op = nullptr;
  for (size_t k = 0; k < count; ++k) {
    const ValueId value = region.outputs()[k].value, first = static_cast<ValueId>(k),
                  second = static_cast<ValueId>(count + k);
    if (region.type(first) != region.type(second) || region.type(value) != region.type(first)) return -1;
    const char* here = "";
    if (value != second) {
      if (region.producer(value) == kNone) return -1;
      const Node& node = region.node(region.producer(value));
      const auto in = region.inputs(node);
      const bool pair =
          in.size() == 2 && ((in[0] == first && in[1] == second) || (in[0] == second && in[1] == first));
      if (!pair) return -1;
      here = node.op->name;
    }
    if (op && std::strcmp(op, here) != 0) return -1;
    op = here;
  }
  if (region.nodes().size() != (*op ? count : 0)) return -1;
  for (size_t i = 0; i < words.size(); ++i) {
    const char* known = word_op(words[i]);
    if (!*op && owner != "scatter") continue;
    if (known && std::strcmp(known, op) == 0) return static_cast<int>(i);
  }
  return -1;
}

size_t explicit_inputs(std::string_view op, size_t inputs, size_t results) {
  size_t count = inputs;
  if (op == "if" || op == "case") {
    count = 1;
  } else if (op == "while" || op == "sort") {
    count = results;
  } else if (op == "reduce" || op == "reduce_window") {
    count = 2 * results;
  } else if (op == "scatter") {
    count = 2 * results + 1;
  } else if (op == "select_and_scatter") {
    count = 3;
  }
  return std::min(count, inputs);
}

}  // namespace espalier::text
