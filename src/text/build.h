// From ops in text to nodes of a graph: scopes of names, regions with what they capture, calls inlined.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/graph.h"
#include "text/attribute_value.h"

namespace espalier::text {

// The names and the graph of one region or function body.
struct Scope {
  // `count` values from `first` on; of an inlined call, entries of `packed` instead.
  struct Definition {
    uint32_t first = 0;
    uint32_t count = 0;
    bool is_packed = false;
  };
  Scope(Scope* outer, std::string name) : parent(outer), graph(std::make_shared<Graph>(std::move(name))) {}

  Scope* parent;  // null for a function: nothing is captured
  std::shared_ptr<Graph> graph;
  std::unordered_map<std::string_view, Definition> names;
  std::vector<ValueId> packed;
  std::vector<ValueId> captures;  // values of the parent's graph; they are inputs after the declared ones
  std::unordered_map<ValueId, ValueId> captured;
  std::vector<ValueId> results;
};

class FunctionSource {
 public:
  virtual ~FunctionSource() = default;
  virtual GraphPtr function_graph(std::string_view name, size_t offset) = 0;
};

// An op as the text has it.
struct OpText {
  std::string_view name;
  size_t offset = 0;
  std::vector<ValueId> operands;
  std::vector<NamedAttribute> attributes;
  std::vector<std::unique_ptr<Scope>> regions;
  std::vector<TensorType> results;
  const AttributeValue* find(std::string_view attribute) const;
};

class Builder {
 public:
  Builder(Lexer& lexer, FunctionSource& functions, const char* file)
      : lexer_(lexer),
        functions_(functions),
        file_(file),
        inline_budget_((1 << 16) + lexer.source().size() / 32) {}

  // At '{': a region up to its '}'. `declare` is called at its first token with the new scope; it defines
  // inputs.
  std::unique_ptr<Scope> parse_region(Scope* parent, const std::string& name,
                                      const std::function<void(Scope&)>& declare);
  // ^bb0(%a: T, %b: T):
  void parse_block_arguments(std::vector<std::string_view>& names, std::vector<TensorType>& types);
  void define_input(Scope& scope, std::string_view name, InputKind kind, std::string input,
                    const TensorType& type, size_t offset);

 private:
  struct ResultName {
    std::string_view name;
    uint32_t count;
    size_t offset;
  };

  // Parses one op. True when it ends the region.
  bool parse_op(Scope& scope);
  void parse_generic(Scope& scope, OpText& op);
  ValueId parse_operand(Scope& scope);
  std::unique_ptr<Scope> parse_plain_region(Scope& outer);
  void define(Scope& scope, std::string_view name, Scope::Definition definition, size_t offset);
  void define_results(Scope& scope, const OpText& op, std::span<const ResultName> names,
                      std::span<const ValueId> values);
  ValueId lookup(Scope& scope, std::string_view name, uint32_t index, size_t offset);

  // Adds what the op means to the scope's graph; its results.
  std::vector<ValueId> build(Scope& scope, OpText& op);
  std::vector<ValueId> build_op(Scope& scope, OpText& op, const OpDef& def);
  std::vector<ValueId> build_composite(Scope& scope, OpText& op);
  std::vector<ValueId> build_dot(Scope& scope, OpText& op);
  std::vector<ValueId> build_custom_call(Scope& scope, OpText& op);
  // Behind the op's name: raises FormatError[text.unsupported] naming an op or a custom call that is not
  // read.
  void require_known(const OpText& op);
  std::vector<ValueId> add_node(Scope& scope, const OpText& op, const OpDef& def, AttributesPtr attributes,
                                std::span<const ValueId> inputs, std::span<const GraphPtr> regions);
  std::vector<ValueId> inline_call(Scope& scope, const OpText& op, const Graph& callee);
  // The regions as closed graphs, with one list of captures, which become operands of the op.
  std::vector<GraphPtr> close_regions(OpText& op);
  [[noreturn]] void unsupported(const OpText& op, std::string_view what) const;

  Lexer& lexer_;
  FunctionSource& functions_;
  const char* file_;
  size_t inline_budget_;
};

}  // namespace espalier::text
