#include <algorithm>
#include <cctype>
#include <utility>

#include "base/find_named.h"
#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/expression_lexer.h"
#include "format/expression_node.h"
#include "format/utf8.h"

namespace espalier {
namespace {

using Kind = ExpressionNode::Kind;
using Node = ExpressionNode;
using Token = ExpressionToken;

constexpr size_t kMostBytes = size_t{1} << 16;
constexpr int kMostNested = 64;
// Of a chain like 1 + 1 + 1, which nests to the left.
constexpr size_t kMostDepth = 256;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text), tokens_(expression_tokens(text)) {}

  Node whole() {
    if (now().kind == Token::Kind::kEnd) fail("an expression is missing", now().at);
    Node out = any_of();
    if (now().kind != Token::Kind::kEnd)
      fail(cat("the expression could end here, or go on with and, or, a comparison or arithmetic, not with ",
               shown(now())),
           now().at,
           decimal_comma()                      ? "the decimal sign of a number is a point"
           : now().kind == Token::Kind::kSymbol ? column_of_signs_fix(text_, now().at)
                                                : words_fix());
    return out;
  }

 private:
  const Token& now() const { return tokens_[next_]; }
  // Whether a comma between digits is what stands here.
  bool decimal_comma() const {
    const size_t at = now().at;
    return now().is(",") && at > 0 && std::isdigit(static_cast<unsigned char>(text_[at - 1])) &&
           std::isdigit(static_cast<unsigned char>(text_[at + 1]));
  }
  // c=d, where others leave blanks.
  bool tight_comparison(size_t at) const {
    return at > 0 && text_[at - 1] != ' ' && text_[std::min(at + 1, text_.size() - 1)] != ' ';
  }
  // Names that follow each other are one name, or a text.
  std::string words_fix() const {
    const auto named = [](const Token& token) { return token.kind == Token::Kind::kName && !token.keyword; };
    if (!named(now()) || next_ == 0 || !named(tokens_[next_ - 1])) return "";
    size_t first = next_ - 1, last = next_;
    while (first > 0 && named(tokens_[first - 1])) --first;
    while (named(tokens_[last + 1])) ++last;
    // `review contains "great"`
    if (std::ranges::count(expression_functions(), now().text, &ExpressionFunction::name) &&
        tokens_[last + 1].kind == Token::Kind::kText)
      return cat("functions stand before what they are of: ", now().text, "(", tokens_[first].text, ", \"",
                 tokens_[last + 1].text, "\")");
    const size_t begin = tokens_[first].at, end = tokens_[last].at + tokens_[last].text.size();
    const std::string all = text_.substr(begin, end - begin);
    return cat("a column of more than one word stands in backticks, `", all, "`, a text in quotes, \"", all,
               "\"");
  }
  bool take(const char* word) {
    if (!now().is(word)) return false;
    ++next_;
    return true;
  }
  std::string taken() { return tokens_[next_++].text; }
  std::string shown(const Token& token) const {
    if (token.kind == Token::Kind::kEnd) return "the end";
    return token.kind == Token::Kind::kText     ? "a text"
           : token.kind == Token::Kind::kNumber ? "a number"
                                                : token.text;
  }
  [[noreturn]] void fail(const std::string& message, size_t at, std::string_view fix = "") const {
    throw FormatError("expression.syntax", pointed_at(text_, at, message), fix);
  }
  void expect(const char* word, const std::string& where) {
    if (!take(word)) fail(cat(word, " is missing ", where, ", before ", shown(now())), now().at);
  }

  Node made(Kind kind, size_t at, std::string text, std::vector<Node> children) const {
    Node out{.kind = kind, .at = at, .text = std::move(text), .children = std::move(children)};
    for (const Node& child : out.children) out.depth = std::max(out.depth, child.depth + 1);
    if (out.depth > kMostDepth)
      throw FormatError("expression.size", pointed_at(text_, at, cat("more than ", kMostDepth, " levels")));
    return out;
  }
  // One list of operands, however parentheses group them.
  Node chain(Kind kind, const char* word, Node (Parser::*operand)()) {
    std::vector<Node> all;
    const size_t at = now().at;
    do {
      Node one = (this->*operand)();
      if (one.kind == kind)
        std::ranges::move(one.children, std::back_inserter(all));
      else
        all.push_back(std::move(one));
    } while (take(word));
    return all.size() == 1 ? std::move(all[0]) : made(kind, at, "", std::move(all));
  }

  Node any_of() { return chain(Kind::kOr, "or", &Parser::all_of); }
  Node all_of() { return chain(Kind::kAnd, "and", &Parser::negated); }
  Node negated() {
    const size_t at = now().at;
    if (!take("not")) return comparison();
    const Nested nested(*this, at);
    std::vector<Node> operand;
    operand.push_back(negated());
    return made(Kind::kNot, at, "", std::move(operand));
  }

  static bool compares(const Token& token) {
    const auto is = [&](const char* word) { return token.is(word); };
    return std::ranges::any_of(std::initializer_list<const char*>{"=", "!=", "<", "<=", ">", ">="}, is);
  }
  Node comparison() {
    Node out = sum();
    const size_t at = now().at;
    if (compares(now())) {
      const std::string sign = taken();
      out = made(Kind::kCompare, at, sign, two(std::move(out), sum()));
    } else if (take("is")) {
      const bool no = take("not");
      if (!take("missing"))
        fail(
            cat("is asks for one thing: is missing, is not missing; a value is compared with =, not with is"),
            at);
      out = negated_if(no, at, made(Kind::kIsMissing, at, "", one(std::move(out))));
    } else {
      const bool no = now().is("not");
      const Token& test = tokens_[next_ + (no ? 1 : 0)];
      if (test.is("in") || test.is("between")) {
        next_ += no ? 2 : 1;
        out = negated_if(no, at, test.is("in") ? in_list(std::move(out), at) : between(std::move(out), at));
      }
    }
    if (compares(now()) || now().is("is") || now().is("in") || now().is("between"))
      fail("a comparison is not compared again: put parentheses around one, or join two with and", now().at,
           tight_comparison(at) ? column_of_signs_fix(text_, at) : "");
    return out;
  }
  Node negated_if(bool no, size_t at, Node node) const {
    return no ? made(Kind::kNot, at, "", one(std::move(node))) : node;
  }
  static std::vector<Node> one(Node node) {
    std::vector<Node> out;
    out.push_back(std::move(node));
    return out;
  }
  static std::vector<Node> two(Node first, Node second) {
    std::vector<Node> out = one(std::move(first));
    out.push_back(std::move(second));
    return out;
  }

  Node in_list(Node of, size_t at) {
    std::vector<Node> all = one(std::move(of));
    const bool round = take("(");
    if (!round) expect("[", "behind in");
    do {
      all.push_back(unary());
      if (!all.back().is_literal()) fail("a list holds numbers or texts in quotes", all.back().at);
      if (all.back().kind != all[1].kind) fail("a list holds numbers or texts, not both", all.back().at);
    } while (take(","));
    expect(round ? ")" : "]", "at the end of the list");
    return made(Kind::kIn, at, "", std::move(all));
  }
  Node between(Node of, size_t at) {
    std::vector<Node> all = two(std::move(of), sum());
    expect("and", "between the two ends of between");
    all.push_back(sum());
    return made(Kind::kBetween, at, "", std::move(all));
  }

  Node arithmetic(std::initializer_list<const char*> signs, Node (Parser::*operand)()) {
    Node out = (this->*operand)();
    while (std::ranges::any_of(signs, [&](const char* sign) { return now().is(sign); })) {
      const size_t at = now().at;
      const std::string sign = taken();
      out = made(Kind::kArithmetic, at, sign, two(std::move(out), (this->*operand)()));
    }
    return out;
  }
  Node sum() { return arithmetic({"+", "-"}, &Parser::product); }
  Node product() { return arithmetic({"*", "/", "%"}, &Parser::unary); }
  Node unary() {
    const size_t at = now().at;
    if (!take("-")) return primary();
    const Nested nested(*this, at);
    Node operand = unary();
    if (operand.kind != Kind::kNumber) return made(Kind::kNegate, at, "", one(std::move(operand)));
    operand.number = -operand.number;
    operand.at = at;
    return operand;
  }

  Node primary() {
    const Token& token = now();
    switch (token.kind) {
      case Token::Kind::kNumber:
        if (!token.text.empty())
          fail(cat("a number has 53 bits, and ", shortened(token.text), " would be ",
                   plain_number(token.number)),
               token.at, digits_fix(token));
        ++next_;
        return {.kind = Kind::kNumber, .at = token.at, .number = token.number};
      case Token::Kind::kText:
        ++next_;
        return {.kind = Kind::kText, .at = token.at, .text = token.text};
      case Token::Kind::kQuotedName:
        ++next_;
        return {.kind = Kind::kColumn, .at = token.at, .text = token.text};
      case Token::Kind::kName:
        if (token.is("true") || token.is("false")) {
          ++next_;
          return {.kind = Kind::kTruth, .at = token.at, .truth = token.text == "true"};
        }
        if (token.keyword) break;
        ++next_;
        if (now().is("(")) return call(token);
        return {.kind = Kind::kColumn, .at = token.at, .text = token.text};
      default:
        break;
    }
    if (!take("("))
      fail(cat("a value is missing before ", shown(token)), token.at,
           token.keyword ? cat("a column of this name is written `", token.text, "`") : "");
    const Nested nested(*this, token.at);
    Node out = any_of();
    expect(")", "behind what stands in parentheses");
    return out;
  }

  // Of a column that alone is = or != this number the same as text.
  std::string digits_fix(const Token& number) const {
    const auto ends = [](const Token& token) {
      return token.keyword || token.kind == Token::Kind::kEnd || token.is("(") || token.is(")");
    };
    size_t at = next_;
    const char* const minus = at > 0 && tokens_[at - 1].is("-") ? "-" : "";
    if (*minus) --at;
    if (at < 2 || !(tokens_[at - 1].is("=") || tokens_[at - 1].is("!=")) || !ends(tokens_[next_ + 1]))
      return "";
    const Token& name = tokens_[at - 2];
    const bool is_name =
        name.kind == Token::Kind::kQuotedName || (name.kind == Token::Kind::kName && !name.keyword);
    if (!is_name || (at > 2 && !ends(tokens_[at - 3]))) return "";
    return cat("text(", column_in_expression(name.text), ") ", tokens_[at - 1].text, " \"", minus,
               number.text, "\"");
  }

  // What a blank parts from its parentheses is rather a column, `price (EUR)`, than a call.
  std::string parentheses_fix(const Token& name) const {
    const size_t end = text_.find(')', now().at);
    if (now().at == name.at + name.text.size() || end == text_.npos) return "";
    return cat("a column with parentheses in its name stands in backticks: `",
               text_.substr(name.at, end + 1 - name.at), "`");
  }
  Node call(const Token& name) {
    const Nested nested(*this, name.at);
    try {
      find_named("expression.function", "function", name.text, expression_functions());
    } catch (const ValueError& error) {
      throw FormatError(error.rule(), pointed_at(text_, name.at, error.message()),
                        error.fix().empty() ? parentheses_fix(name) : error.fix());
    }
    expect("(", "behind the name of a function");
    std::vector<Node> arguments;
    if (!now().is(")")) {
      do arguments.push_back(any_of());
      while (take(","));
    }
    expect(")", cat("behind what ", name.text, " takes"));
    const size_t wanted =
        find_named("expression.function", "function", name.text, expression_functions()).arguments;
    if (arguments.size() != wanted)
      throw FormatError("expression.function",
                        pointed_at(text_, name.at,
                                   cat(name.text, " takes ", wanted == 1 ? "one value" : "two values",
                                       ", not ", arguments.size())));
    return made(Kind::kCall, name.at, name.text, std::move(arguments));
  }

  // Counts what stands inside of another.
  class Nested {
   public:
    Nested(Parser& parser, size_t at) : parser_(parser) {
      if (++parser.nested_ > kMostNested)
        throw FormatError("expression.size",
                          pointed_at(parser.text_, at, cat("nested more than ", kMostNested, " times")));
    }
    ~Nested() { --parser_.nested_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  const std::string& text_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int nested_ = 0;
};

}  // namespace

Expression::Expression(const std::string& text) : text_(text) {
  if (text.size() > kMostBytes)
    throw FormatError("expression.size",
                      cat("an expression has at most ", kMostBytes, " bytes, this one has ", text.size()));
  if (!is_utf8(text)) throw FormatError("expression.syntax", "an expression is text in UTF-8");
  root_ = std::make_shared<const ExpressionNode>(Parser(text_).whole());
}

}  // namespace espalier
