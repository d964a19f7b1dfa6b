#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>

#include "text/build.h"
#include "text/text.h"

namespace espalier {
namespace text {
namespace {

// A function of the module: its header is read when the module is, its body when it is first called.
struct Function {
  std::string name;
  bool is_public = true;
  size_t offset = 0;
  size_t body = 0;                          // at its '{'; 0 for a declaration
  std::vector<std::string> argument_names;  // of the pretty form; the generic form has them in ^bb0
  std::vector<TensorType> inputs, results;
  std::vector<AttributeValue> input_attributes, result_attributes;
  std::shared_ptr<const Graph> graph;
  bool busy = false;
};

const char* intern(std::string_view file) {
  static std::mutex mutex;
  static auto* names = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  return names->emplace(file).first->c_str();
}

class Parser final : FunctionSource {
 public:
  Parser(std::string_view source, std::string_view file) : Parser(source, intern(file)) {}
  Parser(std::string_view source, const char* file) : lexer_(source, file), context_(lexer_, *this, file) {}

  std::shared_ptr<Graph> program() {
    parse_items();
    if (lexer_.kind() != Token::kEnd) lexer_.fail_expected("a function");
    Function& entry = entry_function();
    auto graph = std::make_shared<Graph>(*graph_of(entry));
    if (!module_name_.empty()) graph->set_name(module_name_);
    return graph;
  }

  GraphPtr function_graph(std::string_view name, size_t offset) override {
    const auto it = index_.find(std::string(name));
    if (it == index_.end()) lexer_.fail("text.symbol", cat("unknown function @", name), offset);
    Function& function = functions_[it->second];
    if (function.busy) lexer_.fail("text.symbol", cat("@", name, " calls itself"), offset);
    return graph_of(function);
  }

 private:
  void parse_items() {
    Lexer::Nesting nesting(lexer_);
    for (;;) {
      const size_t at = lexer_.offset();
      if (lexer_.kind() == Token::kEnd || lexer_.at('}')) return;
      if (lexer_.kind() == Token::kHash) {
        lexer_.skip_line();
      } else if (lexer_.at('{')) {  // {-# dialect_resources #-}
        lexer_.skip_balanced();
      } else if (lexer_.accept_word("module")) {
        if (lexer_.kind() == Token::kSymbol) module_name_ = unescape(lexer_.take(Token::kSymbol, "a name"));
        if (lexer_.accept_word("attributes")) skip_dictionary();
        lexer_.expect('{');
        parse_items();
        lexer_.expect('}');
        lexer_.skip_location();
      } else if (lexer_.kind() == Token::kString && lexer_.text() == "builtin.module") {
        generic_module();
      } else if (lexer_.kind() == Token::kString && lexer_.text() == "func.func") {
        generic_function(at);
      } else if (lexer_.accept_word("func.func") || lexer_.accept_word("func")) {
        pretty_function(at);
      } else if (lexer_.kind() == Token::kWord && lexer_.text().find('.') != std::string_view::npos) {
        lexer_.skip_line();
      } else {
        lexer_.fail_expected("a module or a function");
      }
    }
  }

  void skip_dictionary() {
    std::vector<NamedAttribute> ignored;
    parse_dictionary(lexer_, ignored);
  }

  std::vector<NamedAttribute> properties() {
    std::vector<NamedAttribute> out;
    if (lexer_.accept('<')) {
      parse_dictionary(lexer_, out);
      lexer_.expect('>');
    }
    return out;
  }

  void generic_module() {
    lexer_.advance();
    lexer_.expect('(');
    lexer_.expect(')');
    auto attributes = properties();
    lexer_.expect('(');
    lexer_.expect('{');
    parse_items();
    lexer_.expect('}');
    lexer_.expect(')');
    if (lexer_.at('{')) parse_dictionary(lexer_, attributes);
    lexer_.expect(':');
    parse_function_type(lexer_);
    lexer_.skip_location();
    for (const NamedAttribute& a : attributes) {
      if (a.name == "sym_name") module_name_ = a.value.string;
    }
  }

  void generic_function(size_t at) {
    lexer_.advance();
    lexer_.expect('(');
    lexer_.expect(')');
    auto attributes = properties();
    Function function;
    function.offset = at;
    lexer_.expect('(');
    if (!lexer_.at('{')) lexer_.fail_expected("'{'");
    function.body = lexer_.offset();
    lexer_.skip_balanced();
    lexer_.expect(')');
    if (lexer_.at('{')) parse_dictionary(lexer_, attributes);
    lexer_.expect(':');
    parse_function_type(lexer_);
    lexer_.skip_location();
    bool typed = false;
    for (NamedAttribute& a : attributes) {
      if (a.name == "sym_name") function.name = a.value.string;
      if (a.name == "sym_visibility") function.is_public = a.value.string != "private";
      if (a.name == "arg_attrs") function.input_attributes = std::move(a.value.items);
      if (a.name == "res_attrs") function.result_attributes = std::move(a.value.items);
      if (a.name == "function_type" && a.value.kind == AttributeValue::kType) {
        const auto middle = a.value.types.begin() + a.value.integer;
        function.inputs.assign(a.value.types.begin(), middle);
        function.results.assign(middle, a.value.types.end());
        typed = true;
      }
    }
    if (!typed) lexer_.fail("text.function", "a func.func without a function_type", at);
    add(std::move(function));
  }

  // Behind func.func: public @main(%arg0: T {..}) -> (T {..}) attributes {..} { .. }
  void pretty_function(size_t at) {
    Function function;
    function.offset = at;
    if (lexer_.accept_word("private") || lexer_.accept_word("nested")) {
      function.is_public = false;
    } else {
      lexer_.accept_word("public");
    }
    function.name = unescape(lexer_.take(Token::kSymbol, "a function's name"));
    const auto typed = [&](std::vector<TensorType>& types, std::vector<AttributeValue>& attributes) {
      types.push_back(parse_tensor_type(lexer_));
      AttributeValue dictionary;
      if (lexer_.at('{')) parse_dictionary(lexer_, dictionary.entries);
      attributes.push_back(std::move(dictionary));
      lexer_.skip_location();
    };
    lexer_.expect('(');
    while (!lexer_.at(')')) {
      if (!function.inputs.empty()) lexer_.expect(',');
      if (lexer_.kind() == Token::kValue) {
        function.argument_names.emplace_back(lexer_.take(Token::kValue, "an argument"));
        lexer_.expect(':');
      }
      typed(function.inputs, function.input_attributes);
    }
    lexer_.advance();
    if (lexer_.accept(Token::kArrow)) {
      if (lexer_.accept('(')) {
        while (!lexer_.at(')')) {
          if (!function.results.empty()) lexer_.expect(',');
          typed(function.results, function.result_attributes);
        }
        lexer_.advance();
      } else {
        function.results.push_back(parse_tensor_type(lexer_));
      }
    }
    if (lexer_.accept_word("attributes")) skip_dictionary();
    if (lexer_.at('{')) {
      function.body = lexer_.offset();
      lexer_.skip_balanced();
    }
    lexer_.skip_location();
    add(std::move(function));
  }

  void add(Function function) {
    if (!index_.emplace(function.name, functions_.size()).second)
      lexer_.fail("text.symbol", cat("a second function @", function.name), function.offset);
    functions_.push_back(std::move(function));
  }

  Function& entry_function() {
    if (const auto it = index_.find("main"); it != index_.end()) return functions_[it->second];
    Function* found = nullptr;
    for (Function& function : functions_) {
      if (!function.is_public) continue;
      if (found)
        throw FormatError("text.entry",
                          cat("no @main, and both @", found->name, " and @", function.name, " are public"));
      found = &function;
    }
    if (!found) throw FormatError("text.entry", "no @main and no public function");
    return *found;
  }

  GraphPtr graph_of(Function& function) {
    if (function.graph) return function.graph;
    if (!function.body) lexer_.fail("text.symbol", cat("@", function.name, " has no body"), function.offset);
    Lexer::Nesting nesting(lexer_);
    const size_t resume = lexer_.offset();
    function.busy = true;
    lexer_.reset(function.body);
    const auto body =
        context_.parse_region(nullptr, function.name, [&](Scope& inner) { declare(function, inner); });
    finish(function, *body);
    lexer_.reset(resume);
    function.busy = false;
    function.graph = body->graph;
    return function.graph;
  }

  static const AttributeValue* entry(const std::vector<AttributeValue>& attributes, size_t i,
                                     std::string_view name) {
    return i < attributes.size() ? attributes[i].find(name) : nullptr;
  }

  // Declares the arguments, at the first token of the body.
  void declare(const Function& function, Scope& scope) {
    std::vector<std::string_view> names(function.argument_names.begin(), function.argument_names.end());
    std::vector<TensorType> types = function.inputs;
    if (function.argument_names.empty() && lexer_.kind() == Token::kCaret) {
      types.clear();
      context_.parse_block_arguments(names, types);
    }
    if (types != function.inputs || names.size() != types.size())
      lexer_.fail("text.function", cat("the body of @", function.name, " takes other arguments than it says"),
                  function.offset);
    for (size_t i = 0; i < types.size(); ++i) {
      InputKind kind = InputKind::kArgument;
      std::string name(names[i]);
      if (const auto* a = entry(function.input_attributes, i, "espalier.name")) name = a->string;
      if (const auto* a = entry(function.input_attributes, i, "espalier.variable")) {
        kind = InputKind::kVariable;
        name = a->string;
      }
      if (const auto* a = entry(function.input_attributes, i, "espalier.derived")) {
        kind = InputKind::kDerived;
        name = a->string;
      }
      context_.define_input(scope, names[i], kind, std::move(name), types[i], function.offset);
    }
  }

  void finish(const Function& function, Scope& scope) {
    Graph& graph = *scope.graph;
    if (scope.results.size() != function.results.size())
      lexer_.fail("text.function",
                  cat("@", function.name, " returns ", scope.results.size(), " values, says ",
                      function.results.size()),
                  function.offset);
    for (size_t i = 0; i < scope.results.size(); ++i) {
      if (graph.type(scope.results[i]) != function.results[i])
        lexer_.fail("text.function",
                    cat("result ", i, " of @", function.name, " is ", graph.type(scope.results[i]), ", says ",
                        function.results[i]),
                    function.offset);
      OutputKind kind = OutputKind::kResult;
      std::string name = cat("result", i);
      if (const auto* a = entry(function.result_attributes, i, "espalier.name")) name = a->string;
      if (const auto* a = entry(function.result_attributes, i, "espalier.update")) {
        kind = OutputKind::kUpdate;
        name = a->string;
      }
      graph.add_output(kind, std::move(name), scope.results[i]);
    }
  }

  Lexer lexer_;
  Builder context_;
  std::string module_name_;
  std::vector<Function> functions_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace
}  // namespace text

std::shared_ptr<Graph> parse_program(std::string_view source, std::string_view file) {
  return text::Parser(source, file).program();
}

}  // namespace espalier
