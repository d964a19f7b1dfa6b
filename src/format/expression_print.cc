#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/expression_node.h"

namespace espalier {
namespace {

using Kind = ExpressionNode::Kind;

// How tightly operands are bound.
enum Level { kOr, kAnd, kNot, kComparison, kSum, kProduct, kUnary, kPrimary };

bool has_negation(Kind kind) {
  return kind == Kind::kIn || kind == Kind::kBetween || kind == Kind::kIsMissing;
}

Level level_of(const ExpressionNode& node) {
  switch (node.kind) {
    case Kind::kOr:
      return kOr;
    case Kind::kAnd:
      return kAnd;
    case Kind::kNot:
      return has_negation(node.children[0].kind) ? kComparison : kNot;
    case Kind::kCompare:
    case Kind::kIn:
    case Kind::kBetween:
    case Kind::kIsMissing:
      return kComparison;
    case Kind::kArithmetic:
      return node.text == "+" || node.text == "-" ? kSum : kProduct;
    case Kind::kNegate:
      return kUnary;
    case Kind::kNumber:
      return plain_number(node.number)[0] == '-' ? kUnary : kPrimary;
    default:
      return kPrimary;
  }
}

std::string print(const ExpressionNode& node, Level least);

std::string joined(const ExpressionNode& node, size_t first, const char* between, Level least) {
  std::string out;
  for (size_t i = first; i < node.children.size(); ++i)
    out += cat(i == first ? "" : between, print(node.children[i], least));
  return out;
}

// in, between, is missing; `no` is "not " or "".
std::string tested(const ExpressionNode& node, const char* no) {
  const std::string of = print(node.children[0], kSum);
  if (node.kind == Kind::kIn) return cat(of, " ", no, "in [", joined(node, 1, ", ", kUnary), "]");
  if (node.kind == Kind::kBetween) return cat(of, " ", no, "between ", joined(node, 1, " and ", kSum));
  return cat(of, " is ", no, "missing");
}

std::string bare(const ExpressionNode& node) {
  switch (node.kind) {
    case Kind::kNumber:
      return plain_number(node.number);
    case Kind::kText:
      return quoted_text(node.text);
    case Kind::kTruth:
      return node.truth ? "true" : "false";
    case Kind::kColumn:
      return column_in_expression(node.text);
    case Kind::kOr:
      return joined(node, 0, " or ", kAnd);
    case Kind::kAnd:
      return joined(node, 0, " and ", kNot);
    case Kind::kNot:
      return has_negation(node.children[0].kind) ? tested(node.children[0], "not ")
                                                 : cat("not ", print(node.children[0], kNot));
    case Kind::kCompare:
      return cat(print(node.children[0], kSum), " ", node.text, " ", print(node.children[1], kSum));
    case Kind::kArithmetic: {
      const Level level = level_of(node);
      return cat(print(node.children[0], level), " ", node.text, " ",
                 print(node.children[1], level == kSum ? kProduct : kUnary));
    }
    case Kind::kNegate:
      return cat("-", print(node.children[0], kUnary));
    case Kind::kCall:
      return cat(node.text, "(", joined(node, 0, ", ", kOr), ")");
    default:
      return tested(node, "");
  }
}

std::string print(const ExpressionNode& node, Level least) {
  return level_of(node) < least ? cat("(", bare(node), ")") : bare(node);
}

void add_columns(const ExpressionNode& node, std::vector<std::string>& out) {
  if (node.kind == Kind::kColumn && std::ranges::find(out, node.text) == out.end()) out.push_back(node.text);
  for (const ExpressionNode& child : node.children) add_columns(child, out);
}

}  // namespace

std::string column_in_expression(const std::string& name) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; };
  const auto within = [&](unsigned char c) { return letter(c) || std::isdigit(c) || c == '.'; };
  const bool plain = !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
                     std::ranges::all_of(name, within) && !is_keyword(name);
  return plain ? name : quoted_text(name, '`');
}

std::string column_in_message(const std::string& name) {
  std::string typed = column_in_expression(name);
  return typed == name ? quoted_text(name) : printable(typed);
}

std::string canonical(const ExpressionNode& root) { return print(root, kOr); }
std::string Expression::canonical() const { return espalier::canonical(*root_); }

std::vector<std::string> Expression::columns() const {
  std::vector<std::string> out;
  add_columns(*root_, out);
  return out;
}

}  // namespace espalier
