#include "text/build.h"

#include <algorithm>
#include <charconv>

#include "ir/constant.h"
#include "ops/registry.h"
#include "text/chlo.h"
#include "text/fields.h"
#include "text/lapack.h"
#include "text/regions.h"

namespace espalier::text {
namespace {

// Sets the words that stand for regions; a region that a word names is not kept.
class NameRegions final : public WordVisitor {
 public:
  NameRegions(const OpText& op, std::string_view name) : named(op.regions.size()), op_(op), name_(name) {}
  std::vector<bool> named;

  void word(const char* field, int& value, std::span<const char* const> words) override {
    if (!is_region_word(words) || next_ >= named.size()) return;
    const size_t i = next_++;
    const auto position = [&](std::string_view word) {
      return static_cast<int>(std::find(words.begin(), words.end(), word) - words.begin());
    };
    if (!op_.find(cat("espalier.", field))) {
      const int found = region_word(name_, *op_.regions[i]->graph, words);
      value = found < 0 ? position("region") : found;
    }
    named[i] = value != position("region");
  }

 private:
  const OpText& op_;
  std::string_view name_;
  size_t next_ = 0;
};

constexpr std::string_view kCustomCall = "stablehlo.custom_call";

// Null when there is none of that name.
const OpDef* op_of(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view dialect = name.substr(0, dot == std::string_view::npos ? 0 : dot);
  return dialect == "stablehlo" || dialect == "chlo" ? find_op(name.substr(dot + 1)) : nullptr;
}

bool is_terminator(std::string_view name) {
  return name == "stablehlo.return" || name == "func.return" || name == "return" || name == "mhlo.return";
}

}  // namespace

const AttributeValue* OpText::find(std::string_view attribute) const {
  for (const NamedAttribute& a : attributes) {
    if (a.name == attribute) return &a.value;
  }
  return nullptr;
}

void Builder::define(Scope& scope, std::string_view name, Scope::Definition definition, size_t offset) {
  if (!scope.names.emplace(name, definition).second)
    lexer_.fail("text.value", cat("a second value %", name), offset);
}

void Builder::define_input(Scope& scope, std::string_view name, InputKind kind, std::string input,
                           const TensorType& type, size_t offset) {
  define(scope, name, {scope.graph->add_input(kind, std::move(input), type), 1}, offset);
}

ValueId Builder::lookup(Scope& scope, std::string_view name, uint32_t index, size_t offset) {
  if (const auto it = scope.names.find(name); it != scope.names.end()) {
    if (index >= it->second.count)
      lexer_.fail("text.value", cat("%", name, " has ", it->second.count, " results, not #", index), offset);
    const uint32_t at = it->second.first + index;
    return it->second.is_packed ? scope.packed[at] : at;
  }
  if (!scope.parent) lexer_.fail("text.value", cat("unknown value %", name), offset);
  const ValueId outer = lookup(*scope.parent, name, index, offset);
  if (const auto it = scope.captured.find(outer); it != scope.captured.end()) return it->second;
  const TensorType& type = scope.parent->graph->type(outer);
  const ValueId inner =
      scope.graph->add_input(InputKind::kArgument, cat("capture", scope.captures.size()), type);
  scope.captures.push_back(outer);
  scope.captured.emplace(outer, inner);
  return inner;
}

void Builder::parse_block_arguments(std::vector<std::string_view>& names, std::vector<TensorType>& types) {
  lexer_.advance();
  if (lexer_.accept('(')) {
    while (!lexer_.at(')')) {
      if (!names.empty()) lexer_.expect(',');
      names.push_back(lexer_.take(Token::kValue, "a block's argument"));
      lexer_.expect(':');
      types.push_back(parse_tensor_type(lexer_));
      lexer_.skip_location();
    }
    lexer_.advance();
  }
  lexer_.expect(':');
}

std::unique_ptr<Scope> Builder::parse_region(Scope* parent, const std::string& name,
                                             const std::function<void(Scope&)>& declare) {
  Lexer::Nesting nesting(lexer_);
  auto scope = std::make_unique<Scope>(parent, name);
  lexer_.expect('{');
  declare(*scope);
  while (!parse_op(*scope)) {
  }
  if (lexer_.kind() == Token::kCaret) lexer_.fail("unsupported: a region of several blocks");
  lexer_.expect('}');
  return scope;
}

std::unique_ptr<Scope> Builder::parse_plain_region(Scope& outer) {
  auto scope = parse_region(&outer, "region", [&](Scope& inner) {
    if (lexer_.kind() != Token::kCaret) return;
    const size_t at = lexer_.offset();
    std::vector<std::string_view> names;
    std::vector<TensorType> types;
    parse_block_arguments(names, types);
    for (size_t i = 0; i < names.size(); ++i)
      define_input(inner, names[i], InputKind::kArgument, cat("arg", i), types[i], at);
  });
  for (size_t i = 0; i < scope->results.size(); ++i)
    scope->graph->add_output(OutputKind::kResult, cat("result", i), scope->results[i]);
  return scope;
}

ValueId Builder::parse_operand(Scope& scope) {
  const size_t at = lexer_.offset();
  const std::string_view name = lexer_.take(Token::kValue, "an operand");
  uint32_t index = 0;
  if (lexer_.kind() == Token::kHash) {
    const std::string_view text = lexer_.text();
    if (std::from_chars(text.data(), text.data() + text.size(), index).ptr != text.data() + text.size())
      lexer_.fail_expected("the number of a result");
    lexer_.advance();
  }
  return lookup(scope, name, index, at);
}

void Builder::parse_generic(Scope& scope, OpText& op) {
  lexer_.expect('(');
  while (!lexer_.at(')')) {
    if (!op.operands.empty()) lexer_.expect(',');
    op.operands.push_back(parse_operand(scope));
  }
  lexer_.advance();
  if (lexer_.at('[')) unsupported(op, "successors of ");
  if (lexer_.accept('<')) {
    parse_dictionary(lexer_, op.attributes);
    lexer_.expect('>');
  }
  if (lexer_.accept('(')) {
    do {
      op.regions.push_back(parse_plain_region(scope));
    } while (lexer_.accept(','));
    lexer_.expect(')');
  }
  if (lexer_.at('{')) parse_dictionary(lexer_, op.attributes);
  lexer_.expect(':');
  auto [inputs, results] = parse_function_type(lexer_);
  op.results = std::move(results);
  if (inputs.size() != op.operands.size())
    lexer_.fail("text.type",
                cat(op.name, " has ", op.operands.size(), " operands and ", inputs.size(), " types"),
                op.offset);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& actual = scope.graph->type(op.operands[i]);
    if (actual != inputs[i])
      lexer_.fail("text.type", cat("operand ", i, " of ", op.name, " is ", actual, ", says ", inputs[i]),
                  op.offset);
  }
}

bool Builder::parse_op(Scope& scope) {
  std::vector<ResultName> names;
  if (lexer_.kind() == Token::kValue) {
    do {
      const size_t at = lexer_.offset();
      const std::string_view name = lexer_.take(Token::kValue, "a result");
      uint32_t count = 1;
      if (lexer_.accept(':')) {
        const int64_t many = lexer_.take_integer();
        if (many < 1 || many > (1 << 20)) lexer_.fail("a number of results out of range");
        count = static_cast<uint32_t>(many);
      }
      names.push_back({name, count, at});
    } while (lexer_.accept(','));
    lexer_.expect('=');
  }
  OpText op;
  op.offset = lexer_.offset();
  op.name = lexer_.text();
  if (lexer_.kind() != Token::kString) {
    const std::string_view word = lexer_.text();
    if (word == "return" || word.find('.') != std::string_view::npos) {
      lexer_.fail("text.pretty",
                  cat(word,
                      " is the pretty form of an op; only the generic form is read, with names in quotes "
                      "(stablehlo-opt --mlir-print-op-generic prints it, in JAX "
                      "compiler_ir(\"stablehlo\").operation.get_asm(print_generic_op_form=True))"),
                  op.offset);
    }
    lexer_.fail_expected("an op");
  }
  lexer_.advance();
  require_known(op);
  parse_generic(scope, op);
  lexer_.skip_location();
  if (is_terminator(op.name)) {
    scope.results = std::move(op.operands);
    return true;
  }
  const std::vector<ValueId> results = build(scope, op);
  if (results.size() != op.results.size())
    lexer_.fail("text.type", cat(op.name, " has ", results.size(), " results, says ", op.results.size()),
                op.offset);
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType& actual = scope.graph->type(results[i]);
    if (actual != op.results[i])
      lexer_.fail("text.type", cat("result ", i, " of ", op.name, " is ", actual, ", says ", op.results[i]),
                  op.offset);
  }
  define_results(scope, op, names, results);
  return false;
}

void Builder::define_results(Scope& scope, const OpText& op, std::span<const ResultName> names,
                             std::span<const ValueId> values) {
  for (const ResultName& name : names) {
    if (name.count > values.size())
      lexer_.fail("text.value", cat(op.name, " has fewer results than names"), name.offset);
    const auto mine = values.first(name.count);
    bool consecutive = true;
    for (uint32_t k = 1; k < name.count; ++k) consecutive &= mine[k] == mine[0] + k;
    if (consecutive) {
      define(scope, name.name, {mine[0], name.count}, name.offset);
    } else {
      define(scope, name.name, {static_cast<uint32_t>(scope.packed.size()), name.count, true}, name.offset);
      scope.packed.insert(scope.packed.end(), mine.begin(), mine.end());
    }
    values = values.subspan(name.count);
  }
}

void Builder::unsupported(const OpText& op, std::string_view what) const {
  // Their results have sizes that are known at run time.
  const std::string_view name = op.name;
  const bool sizes = name.starts_with("stablehlo.dynamic_") || name.ends_with("_dimension_size") ||
                     name == "stablehlo.real_dynamic_slice" || name.starts_with("shape.");
  lexer_.fail("text.unsupported", cat("unsupported ", what, name), op.offset, sizes ? kFixedSizes : "");
}

std::vector<GraphPtr> Builder::close_regions(OpText& op) {
  std::vector<ValueId> captures;
  std::unordered_map<ValueId, size_t> known;
  for (const auto& region : op.regions) {
    for (const ValueId outer : region->captures) {
      if (known.emplace(outer, captures.size()).second) captures.push_back(outer);
    }
  }
  std::vector<GraphPtr> out;
  for (const auto& region : op.regions) {
    const size_t declared = region->graph->inputs().size() - region->captures.size();
    std::vector<size_t> order(declared + captures.size());
    for (size_t i = 0; i < declared; ++i) order[i] = i;
    std::unordered_map<ValueId, size_t> position;
    for (size_t i = 0; i < region->captures.size(); ++i) position.emplace(region->captures[i], declared + i);
    for (size_t j = 0; j < captures.size(); ++j) {
      const auto it = position.find(captures[j]);
      order[declared + j] = it != position.end() ? it->second : region->graph->inputs().size();
      if (it == position.end())
        region->graph->add_input(InputKind::kArgument, cat("capture", j),
                                 region->parent->graph->type(captures[j]));
    }
    region->graph->renumber(order);
    out.push_back(region->graph);
  }
  op.operands.insert(op.operands.end(), captures.begin(), captures.end());
  return out;
}

std::vector<ValueId> Builder::add_node(Scope& scope, const OpText& op, const OpDef& def,
                                       AttributesPtr attributes, std::span<const ValueId> inputs,
                                       std::span<const GraphPtr> regions) {
  try {
    const Location at{file_, lexer_.line(op.offset)};
    const Node& node =
        scope.graph->node(scope.graph->add_node(def, std::move(attributes), inputs, regions, at));
    std::vector<ValueId> out(node.result_count);
    for (uint32_t i = 0; i < node.result_count; ++i) out[i] = node.first_result + i;
    return out;
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    lexer_.fail("text.op", cat(op.name, ": ", error.message(), " (", error.rule(), ")"), op.offset);
  }
}

std::vector<ValueId> Builder::inline_call(Scope& scope, const OpText& op, const Graph& callee) {
  if (op.operands.size() != callee.inputs().size())
    lexer_.fail("text.call",
                cat(callee.name(), " takes ", counted(callee.inputs().size(), "operand"), ", got ",
                    op.operands.size()),
                op.offset);
  if (callee.nodes().size() > inline_budget_)
    lexer_.fail("text.call",
                cat("calls of functions unfold to too many ops; the last one is ", callee.name()), op.offset);
  inline_budget_ -= callee.nodes().size();
  std::vector<ValueId> map(callee.value_count());
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId input = callee.inputs()[i].value;
    if (scope.graph->type(op.operands[i]) != callee.type(input))
      lexer_.fail("text.call",
                  cat("operand ", i, " of a call of ", callee.name(), " is ",
                      scope.graph->type(op.operands[i]), ", must be ", callee.type(input)),
                  op.offset);
    map[input] = op.operands[i];
  }
  std::vector<ValueId> inputs;
  for (const Node& node : callee.nodes()) {
    inputs.clear();
    for (const ValueId input : callee.inputs(node)) inputs.push_back(map[input]);
    const NodeId id =
        scope.graph->add_node(*node.op, node.attributes, inputs, callee.regions(node), callee.location(node));
    const ValueId first = scope.graph->node(id).first_result;
    for (uint32_t i = 0; i < node.result_count; ++i) map[node.first_result + i] = first + i;
  }
  std::vector<ValueId> out;
  for (const GraphOutput& output : callee.outputs()) out.push_back(map[output.value]);
  return out;
}

std::vector<ValueId> Builder::build_op(Scope& scope, OpText& op, const OpDef& def) {
  std::shared_ptr<Attributes> attributes = def.attributes ? def.attributes() : nullptr;
  struct None final : Attributes {
    void fields(FieldVisitor&) override {}
  } none;
  read_fields(lexer_, op.name, op.offset, attributes ? *attributes : none, op.attributes, op.results);
  if (!op.regions.empty() && attributes) {
    NameRegions names(op, def.name);
    attributes->fields(names);
    std::vector<std::unique_ptr<Scope>> kept;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (!names.named[i]) kept.push_back(std::move(op.regions[i]));
    }
    op.regions = std::move(kept);
  }
  const std::vector<GraphPtr> regions = close_regions(op);
  return add_node(scope, op, def, std::move(attributes), op.operands, regions);
}

std::vector<ValueId> Builder::build_composite(Scope& scope, OpText& op) {
  const AttributeValue* name = op.find("name");
  const AttributeValue* decomposition = op.find("decomposition");
  const AttributeValue* version = op.find("version");
  if (!name || name->kind != AttributeValue::kString || !decomposition)
    lexer_.fail("text.attribute", "a composite needs a name and a decomposition", op.offset);
  const std::string_view full = name->string;
  const OpDef* def = full.starts_with("espalier.") ? find_op(full.substr(9)) : nullptr;
  if (!def || !def->composite || (version ? version->integer : 0) != def->version)
    return inline_call(scope, op, *functions_.function_graph(decomposition->string, op.offset));
  std::vector<NamedAttribute> given;
  if (const AttributeValue* a = op.find("composite_attributes")) given = a->entries;
  std::vector<GraphPtr> regions;
  std::erase_if(given, [&](const NamedAttribute& a) {
    if (a.name != "espalier.regions") return false;
    for (const AttributeValue& region : a.value.items)
      regions.push_back(functions_.function_graph(region.string, region.offset));
    return true;
  });
  std::shared_ptr<Attributes> attributes = def->attributes ? def->attributes() : nullptr;
  if (attributes) read_fields(lexer_, full, op.offset, *attributes, given, op.results);
  return add_node(scope, op, *def, std::move(attributes), op.operands, regions);
}

// stablehlo.dot: the last axis of the left operand with the first of the right one.
std::vector<ValueId> Builder::build_dot(Scope& scope, OpText& op) {
  const OpDef* def = find_op("dot_general");
  if (!def || op.operands.size() != 2) unsupported(op, "op ");
  const auto rank = static_cast<int64_t>(scope.graph->type(op.operands[0]).rank());
  NamedAttribute dimensions{"dot_dimension_numbers", {}};
  dimensions.value.kind = AttributeValue::kStruct;
  const auto put = [&](const char* name, int64_t axis) {
    NamedAttribute list{name, {}};
    list.value.kind = AttributeValue::kIntegers;
    list.value.integers = {axis};
    dimensions.value.entries.push_back(std::move(list));
  };
  put("lhs_contracting_dimensions", rank - 1);
  put("rhs_contracting_dimensions", 0);
  op.attributes.push_back(std::move(dimensions));
  return build_op(scope, op, *def);
}

std::vector<ValueId> Builder::build(Scope& scope, OpText& op) {
  if (op.name == "func.call" || op.name == "call") {
    const AttributeValue* callee = op.find("callee");
    if (!callee || callee->kind != AttributeValue::kSymbol)
      lexer_.fail("text.attribute", "a call without a callee", op.offset);
    return inline_call(scope, op, *functions_.function_graph(callee->string, op.offset));
  }
  if (op.name == "stablehlo.composite") return build_composite(scope, op);
  if (op.name == kCustomCall) return build_custom_call(scope, op);
  if (op.name == "sdy.sharding_constraint" && op.operands.size() == 1) return op.operands;
  if (op.name == "stablehlo.dot") return build_dot(scope, op);
  if (op.name == "chlo.digamma" && op.operands.size() == 1 &&
      is_float(scope.graph->type(op.operands[0]).dtype))
    return inline_call(scope, op, *chlo_digamma(scope.graph->type(op.operands[0])));
  const OpDef* def = op_of(op.name);
  if (!def) unsupported(op, "op ");
  return build_op(scope, op, *def);
}

std::vector<ValueId> Builder::build_custom_call(Scope& scope, OpText& op) {
  const AttributeValue* target = op.find("call_target_name");
  const std::string name = target ? target->string : "";
  if (name == "Sharding" && op.operands.size() == 1) return op.operands;
  if (!is_lapack(name)) lexer_.fail("text.unsupported", cat("unsupported custom_call @", name), op.offset);
  // Where JAX writes them, and where StableHLO's own tools move them to.
  const AttributeValue* flags = op.find("backend_config");
  if (!flags || flags->kind != AttributeValue::kDict) flags = op.find("mhlo.backend_config");
  std::vector<TensorType> types;
  for (const ValueId operand : op.operands) types.push_back(scope.graph->type(operand));
  try {
    if (const auto graph = lapack_graph(name, types, flags)) return inline_call(scope, op, *graph);
  } catch (const ShapeError& error) {
    lexer_.fail("text.op", cat("custom_call @", name, ": ", error.message(), " (", error.rule(), ")"),
                op.offset);
  }
  lexer_.fail("text.unsupported", cat("unsupported operands or flags of custom_call @", name), op.offset);
}

// A custom call is known by its target, every other op by its name. An error about an attribute or a type
// would stand in the way of what matters, so this comes before they are read.
void Builder::require_known(const OpText& op) {
  const std::string_view others[] = {"func.call", "call", "stablehlo.composite", "sdy.sharding_constraint",
                                     "stablehlo.dot"};
  if (op.name != kCustomCall) {
    const bool known = std::ranges::find(others, op.name) != std::end(others) || is_terminator(op.name);
    if (!known && !op_of(op.name)) unsupported(op, "op ");
    return;
  }
  const size_t here = lexer_.offset();
  std::string target;
  for (int depth = 0; lexer_.kind() != Token::kEnd && !(depth == 0 && lexer_.at(':')); lexer_.advance()) {
    if (lexer_.at('(') || lexer_.at('{')) ++depth;
    if (lexer_.at(')') || lexer_.at('}')) --depth;
    if (!lexer_.at_word("call_target_name")) continue;
    lexer_.advance();
    if (lexer_.accept('=') && lexer_.kind() == Token::kString) target = lexer_.text();
    break;
  }
  lexer_.reset(here);
  if (!target.empty() && target != "Sharding" && !is_lapack(target))
    lexer_.fail("text.unsupported", cat("unsupported custom_call @", target), op.offset);
}

}  // namespace espalier::text
