#include "text/regions.h"

#include <algorithm>
#include <cstring>

#include "ops/registry.h"
#include "text/fields.h"

namespace espalier::text {
namespace {

struct WordOp {
  std::string_view word;
  const char* op;
};
constexpr WordOp kWordOps[] = {{"sum", "add"}, {"prod", "multiply"}, {"max", "maximum"}, {"min", "minimum"},
                               {"and", "and"}, {"or", "or"},         {"xor", "xor"},     {"update", ""}};

class CollectWords final : public WordVisitor {
 public:
  std::vector<RegionWord> found;
  void word(const char* name, int& value, std::span<const char* const> words) override {
    if (is_region_word(words)) found.push_back({name, words[static_cast<size_t>(value)], words});
  }
};

class FindWord final : public WordVisitor {
 public:
  explicit FindWord(std::string_view name) : name_(name) {}
  std::string_view found;
  void word(const char* name, int& value, std::span<const char* const> words) override {
    if (name_ == name) found = words[static_cast<size_t>(value)];
  }

 private:
  std::string_view name_;
};

std::string_view find_word(const Node& node, std::string_view name) {
  FindWord find(name);
  if (node.attributes) const_cast<Attributes&>(*node.attributes).fields(find);
  return find.found;
}

class SetWord final : public WordVisitor {
 public:
  SetWord(std::string_view name, std::string_view word) : name_(name), word_(word) {}
  void word(const char* name, int& value, std::span<const char* const> words) override {
    for (size_t i = 0; name_ == name && i < words.size(); ++i) {
      if (word_ == words[i]) value = static_cast<int>(i);
    }
  }

 private:
  std::string_view name_, word_;
};

ValueId add(Graph& graph, std::string_view op, std::initializer_list<ValueId> inputs) {
  const NodeId id = graph.add_node(*find_op(op), nullptr, std::span(inputs.begin(), inputs.size()));
  return graph.node(id).first_result;
}

ValueId compare(Graph& graph, std::string_view direction, ValueId a, ValueId b) {
  const OpDef& op = *find_op("compare");
  auto attributes = op.attributes();
  SetWord set("comparison_direction", direction);
  attributes->fields(set);
  const ValueId inputs[] = {a, b};
  return graph.node(graph.add_node(op, std::move(attributes), inputs)).first_result;
}

// a before b when sorting upwards: NaN comes last, -0 and +0 are one.
ValueId before(Graph& graph, ValueId a, ValueId b) {
  const ValueId less = compare(graph, "LT", a, b);
  if (!is_float(graph.type(a).dtype)) return less;
  const ValueId last = compare(graph, "NE", b, b), number = compare(graph, "EQ", a, a);
  return add(graph, "or", {less, add(graph, "and", {last, number})});
}

// The direction by which a region compares its two arguments; "" when it does anything else.
std::string_view comparison(const Graph& region) {
  if (region.nodes().size() != 1 || region.inputs().size() != 2 || region.outputs().size() != 1) return "";
  const Node& node = region.node(0);
  const auto in = region.inputs(node);
  const bool plain = std::strcmp(node.op->name, "compare") == 0 && in[0] == 0 && in[1] == 1 &&
                     region.outputs()[0].value == node.first_result && region.type(0).rank() == 0 &&
                     find_word(node, "compare_type") != "TOTALORDER";
  return plain ? find_word(node, "comparison_direction") : "";
}

}  // namespace

std::vector<RegionWord> region_words(const Attributes& attributes) {
  CollectWords words;
  const_cast<Attributes&>(attributes).fields(words);
  return std::move(words.found);
}

GraphPtr word_region(std::string_view op, std::string_view word, std::span<const TensorType> elements) {
  auto graph = std::make_shared<Graph>("region");
  const bool sort = op == "sort";
  // One region for all operands.
  const size_t count = op == "all_reduce" ? std::min<size_t>(elements.size(), 1) : elements.size();
  for (size_t i = 0; i < 2 * count; ++i)
    graph->add_input(InputKind::kArgument, cat("arg", i), elements[sort ? i / 2 : i % count]);
  if (const char* combine = word_op(word)) {
    for (size_t k = 0; k < count; ++k) {
      const auto a = static_cast<ValueId>(k), b = static_cast<ValueId>(count + k);
      graph->add_output(OutputKind::kResult, cat("result", k), *combine ? add(*graph, combine, {a, b}) : b);
    }
    return graph;
  }
  if (op == "select_and_scatter") {
    graph->add_output(OutputKind::kResult, "result0", compare(*graph, word, 0, 1));
    return graph;
  }
  if (word == "ascending" || word == "descending") {
    const bool up = word == "ascending";
    graph->add_output(OutputKind::kResult, "result0", before(*graph, up ? 0 : 1, up ? 1 : 0));
    return graph;
  }
  return nullptr;
}

const char* word_op(std::string_view word) {
  for (const WordOp& known : kWordOps) {
    if (known.word == word) return known.op;
  }
  return nullptr;
}

int region_word(std::string_view owner, const Graph& region, std::span<const char* const> words) {
  if (const std::string_view direction = comparison(region); !direction.empty()) {
    const auto it = std::find(words.begin(), words.end(), direction);
    return it == words.end() ? -1 : static_cast<int>(it - words.begin());
  }
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

bool is_recognised(std::string_view op, std::string_view word) {
  return word == "region" || word_op(word) || op == "select_and_scatter";
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
