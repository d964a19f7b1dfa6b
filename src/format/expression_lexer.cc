#include "format/expression_lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/digits.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/decimal.h"
#include "format/expression_node.h"
#include "format/utf8.h"

namespace espalier {
namespace {

using Token = ExpressionToken;

constexpr std::string_view kKeywords[] = {"and", "or",      "not",  "in",   "between",
                                          "is",  "missing", "true", "false"};
// How others write what has a word here.
constexpr struct {
  std::string_view other, ours;
} kForeign[] = {{"&&", "and"}, {"||", "or"}, {"&", "and"}, {"|", "or"}, {"!", "not"}};

std::string in_small_letters(std::string_view word) {
  std::string out(word);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool begins_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) || byte == '_' || byte >= 0x80;
}
bool is_of_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }

// Whether digits alone spell a number that no double holds, `value` being the nearest.
bool is_rounded(std::string_view digits, double value) {
  if (value < static_cast<double>(decimal::kExact) || !std::ranges::all_of(digits, is_digit)) return false;
  char exact[400];
  const char* const end = std::to_chars(exact, exact + sizeof exact, value, std::chars_format::fixed, 0).ptr;
  return digits.substr(digits.find_first_not_of('0')) != std::string_view(exact, end);
}

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> out;
    do {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      out.push_back(next());
    } while (out.back().kind != Token::Kind::kEnd);
    return out;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& message, std::string_view fix = "") const {
    throw FormatError("expression.syntax", pointed_at(text_, at, message), fix);
  }

  Token next() {
    if (at_ == text_.size()) return {.kind = Token::Kind::kEnd, .at = at_};
    const char c = text_[at_];
    if (c == '"' || c == '\'' || c == '`') return quoted(c);
    const bool point = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
    if (is_digit(c) || point) return number();
    if (begins_name(c)) return name();
    return symbol();
  }

  Token quoted(char quote) {
    Token out{.kind = quote == '`' ? Token::Kind::kQuotedName : Token::Kind::kText, .at = at_};
    const std::optional<std::string> text = read_quoted(text_, at_);
    if (!text)
      fail(out.at, cat(quote == '`' ? "a name" : "a text", " begins here and does not end: a ",
                       std::string(1, quote), " is missing"));
    out.text = *text;
    if (quote == '`' && out.text.empty()) fail(out.at, "a name of a column is not empty");
    return out;
  }

  void skip_digits() {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }
  // "2024-01-31" and "31.01.2024", of which the parts are no numbers to reckon with.
  std::string_view date_at(size_t at) const {
    const auto is = [&](const char* form) {
      for (size_t i = 0; form[i]; ++i) {
        const char c = at + i < text_.size() ? text_[at + i] : ' ';
        if (form[i] == '0' ? !is_digit(c) : c != form[i]) return false;
      }
      return true;
    };
    constexpr size_t kDate = 10;
    return is("0000-00-00") || is("00.00.0000") ? std::string_view(text_).substr(at, kDate)
                                                : std::string_view();
  }
  Token number() {
    Token out{.kind = Token::Kind::kNumber, .at = at_};
    skip_digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      skip_digits();
    }
    if (at_ < text_.size() && (text_[at_] | 32) == 'e') {
      size_t digits = at_ + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) {
        at_ = digits;
        skip_digits();
      }
    }
    const std::string_view digits = std::string_view(text_).substr(out.at, at_ - out.at);
    if (const std::string_view date = date_at(out.at); !date.empty())
      fail(out.at, "a date is text", cat("in quotes: \"", date, "\""));
    if (at_ < text_.size() && is_of_name(text_[at_]))
      fail(out.at, "a number ends in a letter or a second point; a name that begins so stands in backticks");
    const std::optional<double> value = parse_decimal(digits);
    if (!value) fail(out.at, "this number is beyond the largest there is, 1.8e308");
    // Many write ten thousand so.
    if (const auto thousands = without_thousands(digits); thousands && digits.ends_with("000"))
      fail(out.at, cat(digits, " may be ", *thousands, " or ", shortest(*value),
                       ": the decimal sign is a point, and nothing parts thousands"));
    out.number = *value;
    if (is_rounded(digits, *value)) out.text = digits;
    return out;
  }

  Token name() {
    Token out{.kind = Token::Kind::kName, .at = at_};
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    out.text = text_.substr(out.at, at_ - out.at);
    out.keyword = is_keyword(out.text);
    if (out.keyword) out.text = in_small_letters(out.text);
    return out;
  }

  Token symbol() {
    Token out{.kind = Token::Kind::kSymbol, .at = at_};
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view known :
         {"==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", "+", "-", "*", "/", "%"}) {
      if (!rest.starts_with(known)) continue;
      at_ += known.size();
      out.text = known == "==" ? "=" : known == "<>" ? "!=" : known;
      return out;
    }
    for (const auto& [other, ours] : kForeign) {
      if (rest.starts_with(other)) fail(at_, cat(other, " is written as a word: ", ours), ours);
    }
    fail(at_, cat("\"", printable(rest.substr(0, 1)), "\" means nothing here"),
         column_of_signs_fix(text_, at_));
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

bool is_keyword(std::string_view word) {
  return std::ranges::find(kKeywords, in_small_letters(word)) != std::end(kKeywords);
}

std::string pointed_at(std::string_view text, size_t at, std::string_view message) {
  constexpr size_t kAround = 36;
  const auto continues = [&](size_t byte) { return byte < text.size() && (text[byte] & 0xC0) == 0x80; };
  size_t begin = at > kAround ? at - kAround : 0, end = std::min(text.size(), at + kAround);
  while (begin > 0 && continues(begin)) --begin;
  while (continues(end)) ++end;
  const std::string before = cat(begin ? "..." : "", printable(text.substr(begin, at - begin)));
  const auto width = std::ranges::count_if(before, [](char c) { return (c & 0xC0) != 0x80; });
  return cat(message, "\n    ", before, printable(text.substr(at, end - at)), end < text.size() ? "..." : "",
             "\n    ", std::string(static_cast<size_t>(width), ' '), "^");
}

std::string column_of_signs_fix(std::string_view text, size_t at) {
  constexpr std::string_view kEnds = " \t\n\r\"'`()[]";
  const size_t before = text.substr(0, at).find_last_of(kEnds);
  const size_t begin = before == text.npos ? 0 : before + 1;
  const size_t end = std::min(text.find_first_of(kEnds, at), text.size());
  const std::string name(text.substr(begin, end - begin));
  if (at == begin || std::isdigit(static_cast<unsigned char>(name[0])) || column_in_expression(name) == name)
    return "";
  return cat("a column of this name is written ", printable(column_in_expression(name)));
}

std::vector<ExpressionToken> expression_tokens(const std::string& text) { return Lexer(text).tokens(); }

}  // namespace espalier
