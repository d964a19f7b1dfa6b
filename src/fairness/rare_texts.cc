#include "fairness/rare_texts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "data/column_steps.h"
#include "fairness/rare_slices.h"
#include "format/expression_node.h"

namespace espalier {
namespace {

using Kind = ExpressionNode::Kind;

void collect(const ExpressionNode& node, Kind kind, std::vector<std::string>& out) {
  if (node.kind == kind) out.push_back(node.text);
  for (const ExpressionNode& child : node.children) collect(child, kind, out);
}

bool is_bound(const ExpressionNode& within, const std::string& text) {
  const bool orders = within.kind == Kind::kBetween ||
                      (within.kind == Kind::kCompare && within.text.find_first_of("<>") == 0);
  return orders && read_moment(text, DateStyle::kIso);
}

class Hider {
 public:
  Hider(const CsvTable& table, int64_t k) : table_(table), k_(k) {}

  // What is true or false of a row by itself holds the columns that its texts meet.
  void hide(ExpressionNode& node) const {
    if (node.kind == Kind::kOr || node.kind == Kind::kAnd || node.kind == Kind::kNot) {
      for (ExpressionNode& child : node.children) hide(child);
      return;
    }
    std::vector<std::string> texts, columns;
    collect(node, Kind::kText, texts);
    if (texts.empty()) return;
    collect(node, Kind::kColumn, columns);
    std::map<std::string, int64_t, std::less<>> most;
    for (const std::string& name : columns) {
      for (const auto& [text, rows] : rows_of(texts, table_.column(name)))
        most[text] = std::max(most[text], rows);
    }
    replace(node, node, most);
  }

 private:
  using Counts = std::map<std::string, int64_t, std::less<>>;

  Counts rows_of(const std::vector<std::string>& texts, int64_t column) const {
    Counts out;
    for (const std::string& text : texts) out[text] = 0;
    for (int64_t row = 0; row < table_.rows(); ++row) {
      const auto found = out.find(table_.cell(row, column));
      if (found != out.end()) ++found->second;
    }
    return out;
  }

  void replace(ExpressionNode& node, const ExpressionNode& within, const Counts& rows) const {
    if (node.kind == Kind::kText && !is_bound(within, node.text)) {
      const auto found = rows.find(node.text);
      if (found == rows.end() || found->second < k_) node.text = kRareName;
    }
    for (ExpressionNode& child : node.children) replace(child, within, rows);
  }

  const CsvTable& table_;
  int64_t k_;
};

}  // namespace

std::string without_rare_texts(const Expression& condition, const CsvTable& table, int64_t k) {
  ExpressionNode root = condition.root();
  Hider(table, k).hide(root);
  return canonical(root);
}

}  // namespace espalier
