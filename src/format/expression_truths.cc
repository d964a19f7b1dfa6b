#include <algorithm>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/find_named.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/decimal.h"
#include "format/expression_node.h"
#include "format/expression_values.h"

namespace espalier {
namespace {

using namespace expression;
using Kind = ExpressionNode::Kind;
using Node = ExpressionNode;

constexpr int64_t kRowsAtOnce = 4096;

// A column of the table, read once to know its type.
struct Column {
  Bound bound;
  ColumnType type = ColumnType::kByCells;  // what was said of it
  int64_t first_text = -1;                 // the row of the first cell that is neither a number nor missing
  bool numbers_before = false;
};

class Binder {
 public:
  Binder(const Expression& expression, const CsvTable& table, const IsMissing& is_missing,
         const ColumnTypes& types, const CellMeanings& meanings)
      : text_(expression.text()),
        table_(table),
        is_missing_(is_missing),
        types_(types),
        meanings_(meanings) {}

  Of<Truths> condition(const Node& node) { return truths_of(node); }

 private:
  [[noreturn]] void fail(const char* rule, const Node& node, const std::string& message,
                         std::string_view fix = "") const {
    throw ValueError(rule, pointed_at(text_, node.at, message), fix);
  }

  const std::string& name_of(int64_t column) const { return table_.names()[static_cast<size_t>(column)]; }
  static bool reads_column(const Node& node) {
    return node.kind == Kind::kColumn || std::ranges::any_of(node.children, reads_column);
  }
  static void add_texts(const Node& node, std::vector<const Node*>& out) {
    if (node.kind == Kind::kText) out.push_back(&node);
    for (const Node& child : node.children) add_texts(child, out);
  }
  // What asks about texts alone is the same of each row: a column in quotes was meant for its cells.
  Bound asked(const Node& node, Bound answer) const {
    if (reads_column(node)) return answer;
    std::vector<const Node*> texts;
    add_texts(node, texts);
    for (const Node* text : texts) {
      if (std::ranges::count(table_.names(), text->text))
        fail("expression.type", *text,
             cat("\"", text->text, "\" is a text here, and no column is compared with it"),
             column_fix(text->text));
    }
    return answer;
  }
  static std::string column_fix(const std::string& name) {
    return cat("a column has no quotes: ", column_in_expression(name));
  }

  Bound bind(const Node& node) {
    switch (node.kind) {
      case Kind::kNumber:
        return bound(Of<Numbers>(
            [x = node.number](const Rows& rows) { return Numbers(static_cast<size_t>(rows.size), x); }));
      case Kind::kText:
        return bound(Of<Texts>([text = node.text](const Rows& rows) {
          return Texts{std::vector<std::string_view>(static_cast<size_t>(rows.size), text)};
        }));
      case Kind::kTruth:
        return bound(Of<Truths>(
            [x = truth(node.truth)](const Rows& rows) { return Truths(static_cast<size_t>(rows.size), x); }));
      case Kind::kColumn:
        return column(node).bound;
      case Kind::kOr:
      case Kind::kAnd: {
        std::vector<Of<Truths>> all;
        for (const Node& child : node.children) all.push_back(truths_of(child));
        return bound(joined(std::move(all), truth(node.kind == Kind::kOr)));
      }
      case Kind::kNot:
        return bound(Of<Truths>([of = truths_of(node.children[0])](const Rows& rows) {
          Truths out = of(rows);
          std::ranges::transform(out, out.begin(), negated);
          return out;
        }));
      case Kind::kCompare:
        return asked(node, compare(node));
      case Kind::kIn:
        return asked(node, in_list(node));
      case Kind::kBetween:
        return asked(node, between(node));
      case Kind::kIsMissing:
        return asked(node, missing(bind(node.children[0])));
      case Kind::kArithmetic: {
        const Of<Numbers> first = numbers_of(node.children[0]), second = numbers_of(node.children[1]);
        return bound(computed(first, second, arithmetic(node.text[0])));
      }
      case Kind::kNegate:
        return bound(computed(numbers_of(node.children[0]), [](double x) { return -x; }));
      case Kind::kCall:
        return call(node);
    }
    throw InternalError("an expression of no known kind");
  }

  const Column& column(const Node& node) {
    const auto known = columns_.find(node.text);
    return known != columns_.end() ? known->second : columns_.emplace(node.text, read(node)).first->second;
  }
  Column read(const Node& node) const {
    const int64_t column = number_of_column(node);
    Column out;
    out.type = types_ ? types_(node.text) : ColumnType::kByCells;
    if (out.type == ColumnType::kText) {
      out.bound = bound(cells(column));
      return out;
    }
    auto numbers = std::make_shared<Numbers>(static_cast<size_t>(table_.rows()), kNone);
    for (int64_t row = 0; row < table_.rows() && out.first_text < 0; ++row) {
      if (is_missing_(table_.cell(row, column), name_of(column))) continue;
      const double value = table_.number_or_nan(row, column);
      if (is_missing(value) && out.type == ColumnType::kNumber) continue;
      if (is_missing(value))
        out.first_text = row;
      else
        out.numbers_before = true;
      (*numbers)[static_cast<size_t>(row)] = value;
    }
    if (out.first_text < 0) {
      out.bound = bound(Of<Numbers>([numbers](const Rows& rows) {
        return Numbers(numbers->begin() + rows.begin, numbers->begin() + rows.begin + rows.size);
      }));
      if (!out.numbers_before && out.type == ColumnType::kByCells)
        out.bound.type = Type::kUnknown, out.bound.texts = cells(column);
    } else {
      out.bound = bound(cells(column));
    }
    return out;
  }
  Of<Numbers> numbers_in(int64_t column) const {
    return [this, column](const Rows& rows) {
      Numbers out;
      for (int64_t row = rows.begin; row < rows.begin + rows.size; ++row)
        out.push_back(is_missing_(table_.cell(row, column), name_of(column))
                          ? kNone
                          : table_.number_or_nan(row, column));
      return out;
    };
  }
  Of<Texts> cells(int64_t column) const {
    return [this, column](const Rows& rows) {
      Texts out;
      for (int64_t row = rows.begin; row < rows.begin + rows.size; ++row) {
        const std::string_view cell = table_.cell(row, column);
        out.of.push_back(is_missing_(cell, name_of(column)) ? std::string_view() : cell);
      }
      return out;
    };
  }
  // A name that goes on beyond what is one without backticks is a fix that is sure.
  int64_t number_of_column(const Node& node) const {
    const auto known = std::ranges::find(table_.names(), node.text);
    if (known != table_.names().end()) return known - table_.names().begin();
    std::string longest;
    for (const std::string& name : table_.names()) {
      if (name.size() > longest.size() && std::string_view(text_).substr(node.at).starts_with(name))
        longest = name;
    }
    const std::string close = near_columns(node.text);
    fail("expression.column", node,
         cat("unknown column ", column_in_message(node.text), ": known are ", known_columns()),
         !longest.empty() ? cat("write ", column_in_expression(longest))
         : close.empty()  ? text_fix(node.text)
                          : cat("did you mean ", close, "?"));
  }
  std::string known_columns() const {
    constexpr size_t kMostNamed = 100;
    const std::vector<std::string>& names = table_.names();
    std::string out;
    for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
      out += cat(i == 0 ? "" : ", ", printable(column_in_expression(names[i])));
    return names.size() > kMostNamed ? cat(out, " and ", names.size() - kMostNamed, " more") : out;
  }
  // Names that are spelled nearly so, else those in backticks that the word begins or ends.
  std::string near_columns(const std::string& word) const {
    std::vector<std::string> close = nearest(word, table_.names());
    for (const std::string& name : table_.names()) {
      const bool part = name.starts_with(word) || name.ends_with(word);
      if (close.empty() && part && column_in_expression(name) != name) close.push_back(name);
    }
    std::string out;
    for (const std::string& name : close) out += cat(out.empty() ? "" : " or ", column_in_message(name));
    return out;
  }
  // A name that a cell holds was meant for a text.
  std::string text_fix(const std::string& name) const {
    for (int64_t row = 0; row < table_.rows(); ++row) {
      for (int64_t column = 0; column < std::ssize(table_.names()); ++column) {
        if (table_.cell(row, column) == name) return cat("a text stands in quotes: \"", name, "\"");
      }
    }
    return "";
  }

  // Why the type is what it is, where a column is its reason.
  std::string reason(const Node& node) {
    if (node.kind != Kind::kColumn) return "";
    const Column& of = column(node);
    const int64_t row = of.first_text;
    if (of.type == ColumnType::kText) return cat("; column ", column_in_message(node.text), " is text");
    if (of.bound.type == Type::kNumber)
      return cat("; column ", column_in_message(node.text), " is of numbers");
    return cat("; column ", column_in_message(node.text), " is text, since line ", table_.line(row),
               " holds \"", shortened(table_.cell(row, table_.column(node.text))), "\"");
  }
  std::string fix(const Node& node) {
    const bool mostly =
        node.kind == Kind::kColumn && column(node).numbers_before && column(node).first_text >= 0;
    return mostly ? number_fix(node.text) : "";
  }
  static std::string number_fix(const std::string& column) {
    return cat("number(", column_in_expression(column), "), which takes other cells for missing");
  }
  void check(const Node& node, Type is, Type wanted, const char* what) {
    if (is != wanted && (is != Type::kUnknown || wanted == Type::kTruth))
      fail("expression.type", node,
           cat(what, " is ", name(wanted), ", and this is ",
               is == Type::kUnknown ? "a column without values" : name(is),
               is == Type::kUnknown ? "" : reason(node)),
           wanted == Type::kNumber ? fix(node) : "");
  }
  Of<Truths> truths_of(const Node& node) {
    Bound out = bind(node);
    check(node, out.type, Type::kTruth, "a condition");
    return out.truths;
  }
  // The same as numbers, where it is a column of text whose cells are amounts.
  Bound amounts_in(const Node& node, Bound of, bool others_are_missing = false) const {
    if (node.kind != Kind::kColumn || of.type != Type::kText || !meanings_.amounts) return of;
    const int64_t column = table_.column(node.text);
    std::optional<CellMeanings::Amounts> amounts = meanings_.amounts(column);
    if (!amounts) return of;
    if (const int64_t row = amounts->first_other; row >= 0 && !others_are_missing) {
      fail("expression.type", node,
           cat("column ", column_in_message(node.text), " is of amounts, but line ", table_.line(row),
               " holds \"", shortened(table_.cell(row, column)), "\""),
           number_fix(node.text));
    }
    return bound(Of<Numbers>([all = std::move(amounts->of)](const Rows& rows) {
      return Numbers(all.begin() + rows.begin, all.begin() + rows.begin + rows.size);
    }));
  }
  // Two texts that are compared as numbers, where they are dates or times of day.
  std::optional<std::pair<Of<Numbers>, Of<Numbers>>> times_of(const Node& node, const Node& a, const Node& b,
                                                              bool orders) const {
    const auto side = [&](const Node& all) -> std::optional<CellMeanings::Side> {
      // Capitals and spaces change no date.
      const bool in_call = orders && all.kind == Kind::kCall && all.children.size() == 1 &&
                           all.children[0].kind == Kind::kColumn;
      const Node& of = in_call ? all.children[0] : all;
      if (of.kind == Kind::kColumn) return CellMeanings::Side{.column = table_.column(of.text)};
      if (of.kind == Kind::kText) return CellMeanings::Side{.text = of.text};
      return std::nullopt;
    };
    const std::optional<CellMeanings::Side> of_a = side(a), of_b = side(b);
    if (!meanings_.times || !of_a || !of_b) return std::nullopt;
    try {
      std::optional<CellMeanings::Times> times = meanings_.times(*of_a, *of_b, orders);
      if (!times) return std::nullopt;
      const auto numbers = [](const CellMeanings::Side& of, std::vector<double> all) {
        return Of<Numbers>([one = of.column < 0, all = std::move(all)](const Rows& rows) {
          if (one) return Numbers(static_cast<size_t>(rows.size), all[0]);
          return Numbers(all.begin() + rows.begin, all.begin() + rows.begin + rows.size);
        });
      };
      return std::pair(numbers(*of_a, std::move(times->a)), numbers(*of_b, std::move(times->b)));
    } catch (const ValueError& error) {
      fail("expression.date", node, error.message(), error.fix());
    }
  }
  // `of` as what it is compared with.
  Bound meeting(const Node& node, Bound of, const Bound& other) const {
    return of.type == Type::kText && other.type == Type::kNumber ? amounts_in(node, std::move(of)) : of;
  }

  Of<Numbers> numbers_of(const Node& node, const char* what = "what is computed with") {
    Bound out = amounts_in(node, bind(node));
    check(node, out.type, Type::kNumber, what);
    return out.numbers;
  }
  Of<Texts> texts_of(const Node& node) {
    Bound out = bind(node);
    check(node, out.type, Type::kText, "what this function takes");
    return out.texts;
  }

  // What to write for digits in quotes beside a column of numbers: as a number those of a code, "02134", are
  // those of another one too.
  static std::string number_in_quotes(const Node& node, const Node& text, const Node& column) {
    const std::string& digits = text.text;
    const std::optional<double> number = parse_decimal(digits);
    const bool plain = plain_number(*number) == digits || shortest(*number) == digits ||
                       digits.find_first_of(".eE") != digits.npos;
    if (plain) return cat("a number has no quotes: ", digits);
    const std::string cells = cat("text(", column_in_expression(column.text), ")");
    const bool first = node.kind == Kind::kCompare && &node.children[0] == &text;
    return node.kind == Kind::kCompare ? cat(first ? quoted_text(digits) : cells, " ", node.text, " ",
                                             first ? cells : quoted_text(digits))
                                       : cat(cells, ", which are as they stand");
  }

  // The type of both, as far as one is known.
  Type common(const Node& node, const Node& a, const Bound& first, const Node& b, const Bound& second) {
    if (first.type == Type::kUnknown) return second.type;
    if (second.type == Type::kUnknown || first.type == second.type) return first.type;
    std::string help;
    for (const auto& [text, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (text->kind == Kind::kText && other->kind == Kind::kColumn) {
        if (parse_decimal(text->text)) help = number_in_quotes(node, *text, *other);
      } else if (text->kind == Kind::kText && std::ranges::count(table_.names(), text->text)) {
        help = column_fix(text->text);
      }
      if (help.empty()) help = fix(*text);
    }
    fail("expression.type", node,
         cat("both sides are of one type, and here ", name(first.type), " meets ", name(second.type),
             reason(a), reason(b)),
         help);
  }

  // Day and month stand before the year: byte by byte such texts have no order in time.
  void check_dates(const Node& node) {
    for (const Node& part : node.children) {
      if (part.kind != Kind::kText || !ends_with_year(part.text)) continue;
      fail(
          "expression.date", node,
          cat("text is compared byte by byte, and the date \"", part.text, "\" does not begin with its year"),
          "write dates as 2024-01-31; `data split FILE --by-time COLUMN` parts rows at a day as they are");
    }
  }
  static bool ends_with_year(std::string_view text) {
    // 31.1.2024, 1/31/2024.
    std::string shape;
    for (const char c : text) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit && c != '.' && c != '/') return false;
      shape += digit ? '0' : '.';
    }
    const size_t first = shape.find('.'), second = shape.find('.', first + 1);
    return second != shape.npos && (first == 1 || first == 2) && second - first <= 3 && second > first + 1 &&
           shape.size() == second + 5 && shape.find('.', second + 1) == shape.npos;
  }

  Bound compare(const Node& node) {
    const Node &a = node.children[0], &b = node.children[1];
    const Bound left = bind(a), right = bind(b);
    const Bound first = meeting(a, left, right), second = meeting(b, right, left);
    switch (common(node, a, first, b, second)) {
      case Type::kText: {
        const bool orders = node.text != "=" && node.text != "!=";
        if (orders) check_dates(node);
        // Each of what coalesce chooses from may have a form of date of its own.
        for (const size_t side : {size_t{0}, size_t{1}}) {
          const Node& of = node.children[side];
          if (orders && of.kind == Kind::kCall && of.text == "coalesce") return coalesced(node, side);
        }
        if (const auto times = times_of(node, a, b, orders))
          return bound(compared(node.text, times->first, times->second));
        return bound(compared(node.text, first.texts, second.texts));
      }
      case Type::kTruth:
        if (node.text != "=" && node.text != "!=")
          fail("expression.type", node,
               cat("what is true or false is compared with = and !=, not with ", node.text));
        return bound(compared(node.text, either_truths(first), either_truths(second)));
      default:
        return bound(compared(node.text, first.numbers, second.numbers));
    }
  }
  Bound coalesced(const Node& node, size_t side) {
    const Node& of = node.children[side];
    Node with_first = node, with_second = node;
    with_first.children[side] = of.children[0];
    with_second.children[side] = of.children[1];
    return bound(Of<Truths>([none = missing(bind(of.children[0])).truths, first = compare(with_first).truths,
                             second = compare(with_second).truths](const Rows& rows) {
      Truths out = first(rows);
      const Truths is_none = none(rows), instead = second(rows);
      for (size_t row = 0; row < out.size(); ++row) {
        if (is_none[row] == Truth::kTrue) out[row] = instead[row];
      }
      return out;
    }));
  }
  // Of a column without values.
  static Of<Truths> either_truths(const Bound& of) {
    if (of.truths) return of.truths;
    return [](const Rows& rows) { return Truths(static_cast<size_t>(rows.size), Truth::kMissing); };
  }

  Bound in_list(const Node& node) {
    const Node& of = node.children[0];
    const Bound list = bind(node.children[1]);
    const Bound left = meeting(of, bind(of), list);
    if (common(node, of, left, node.children[1], list) == Type::kNumber) {
      std::unordered_set<double> all;
      for (size_t i = 1; i < node.children.size(); ++i) all.insert(node.children[i].number);
      return bound(tested(left.numbers, [all](double x) { return all.contains(x); }));
    }
    // Where one is a date as the cells are, a row is in the list where it is equal to any.
    const auto is = [&](const Node& one) {
      return Node{.kind = Kind::kCompare, .at = node.at, .text = "=", .children = {of, one}};
    };
    const std::span<const Node> listed = std::span(node.children).subspan(1);
    if (std::ranges::any_of(listed, [&](const Node& one) { return !!times_of(is(one), of, one, false); })) {
      std::vector<Of<Truths>> any;
      for (const Node& one : listed) any.push_back(compare(is(one)).truths);
      return bound(joined(std::move(any), Truth::kTrue));
    }
    std::unordered_set<std::string> all;
    for (size_t i = 1; i < node.children.size(); ++i) all.insert(node.children[i].text);
    return bound(tested(left.texts, [all](std::string_view x) { return all.contains(std::string(x)); }));
  }

  Bound between(const Node& node) {
    std::vector<Of<Truths>> ends;
    for (const auto& [sign, end] : {std::pair{">=", 1}, std::pair{"<=", 2}}) {
      Node one{.kind = Kind::kCompare,
               .at = node.at,
               .text = sign,
               .children = {node.children[0], node.children[static_cast<size_t>(end)]}};
      ends.push_back(compare(one).truths);
    }
    return bound(joined(std::move(ends), Truth::kFalse));
  }

  template <class T>
  static Bound missing_of(Of<T> of) {
    return bound(Of<Truths>([of](const Rows& rows) {
      const T all = of(rows);
      Truths out;
      for (const auto& one : values(all)) out.push_back(truth(is_missing(one)));
      return out;
    }));
  }
  static Bound missing(const Bound& of) {
    if (of.numbers) return missing_of(of.numbers);
    return of.texts ? missing_of(of.texts) : missing_of(of.truths);
  }

  Bound call(const Node& node) {
    const ExpressionFunction& function =
        find_named("expression.function", "function", node.text, expression_functions());
    constexpr const char* kTaken = "what this function takes";
    const Node &first = node.children[0], &last = node.children.back();
    if (function.of_number) return bound(computed(numbers_of(first, kTaken), function.of_number));
    if (function.of_numbers) {
      const Of<Numbers> a = numbers_of(first, kTaken), b = numbers_of(last, kTaken);
      return bound(computed(a, b, function.of_numbers));
    }
    if (function.truth_of_texts) {
      const Of<Texts> a = texts_of(first), b = texts_of(last);
      return asked(node, bound(tested(a, b, function.truth_of_texts)));
    }
    if (function.number_of_text) return bound(numbers_of_texts(texts_of(first), function.number_of_text));
    if (function.of_text) return bound(texts_of_texts(texts_of(first), function.of_text));
    if (function.name == "coalesce") return coalesce(node);
    return function.name == "text" ? text_of_column(first) : number_of_any(first);
  }
  static Of<Numbers> numbers_of_texts(Of<Texts> of, double (*f)(std::string_view)) {
    return [of, f](const Rows& rows) {
      const Texts texts = of(rows);
      Numbers out;
      for (const std::string_view text : texts.of) out.push_back(is_missing(text) ? kNone : f(text));
      return out;
    };
  }
  static Of<Texts> texts_of_texts(Of<Texts> of, std::string (*f)(std::string_view)) {
    return [of, f](const Rows& rows) {
      const Texts texts = of(rows);
      std::vector<std::string> made;
      for (const std::string_view text : texts.of) made.push_back(is_missing(text) ? std::string() : f(text));
      Texts out;
      for (size_t i = 0; i < made.size(); ++i)
        out.of.push_back(is_missing(texts.of[i]) ? std::string_view() : std::string_view(made[i]));
      out.kept.push_back(std::move(made));
      return out;
    };
  }
  Bound coalesce(const Node& node) {
    const Node &a = node.children[0], &b = node.children[1];
    const Bound first = bind(a), second = bind(b);
    switch (common(node, a, first, b, second)) {
      case Type::kText:
        return bound(either(first.texts, second.texts));
      case Type::kTruth:
        return bound(either(either_truths(first), either_truths(second)));
      default: {
        Bound out = bound(either(first.numbers, second.numbers));
        if (first.type == second.type && first.type == Type::kUnknown)
          out.type = Type::kUnknown, out.texts = either(first.texts, second.texts);
        return out;
      }
    }
  }
  Bound text_of_column(const Node& of) {
    if (of.kind != Kind::kColumn)
      fail("expression.type", of, "text takes a column, whose cells it gives as they stand");
    column(of);
    return bound(cells(table_.column(of.text)));
  }
  Bound number_of_any(const Node& of) {
    const Bound any = amounts_in(of, bind(of), true);
    if (any.numbers) return bound(any.numbers);
    check(of, any.type, Type::kText, "what number takes");
    if (of.kind == Kind::kColumn) return bound(numbers_in(table_.column(of.text)));
    const auto plain = [](std::string_view text) { return parse_decimal(text).value_or(kNone); };
    const auto comma = [](std::string_view text) {
      const std::optional<double> value = parse_decimal(text);
      return (value ? value : parse_decimal_comma(text)).value_or(kNone);
    };
    return bound(table_.numbers().decimal_comma ? numbers_of_texts(any.texts, comma)
                                                : numbers_of_texts(any.texts, plain));
  }

  const std::string& text_;
  const CsvTable& table_;
  const IsMissing& is_missing_;
  const ColumnTypes& types_;
  const CellMeanings& meanings_;
  std::map<std::string, Column> columns_;
};

}  // namespace

std::vector<Truth> truths(const Expression& condition, const CsvTable& table, const IsMissing& is_missing,
                          const ColumnTypes& types, const CellMeanings& meanings) {
  Binder binder(condition, table, is_missing, types, meanings);
  const Of<Truths> of = binder.condition(condition.root());
  std::vector<Truth> out;
  for (int64_t begin = 0; begin < table.rows(); begin += kRowsAtOnce) {
    const Truths block = of({begin, std::min(kRowsAtOnce, table.rows() - begin)});
    out.insert(out.end(), block.begin(), block.end());
  }
  return out;
}

}  // namespace espalier
