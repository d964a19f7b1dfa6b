// Tokens of MLIR text, with places for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier::text {

enum class Token : uint8_t {
  kEnd,
  kWord,     // tensor, i64, stablehlo.add
  kString,   // text is what stands between the quotes, escapes unresolved
  kInteger,  // -5
  kHex,      // 0x7F80
  kFloat,    // -1.5e+01
  kValue,    // %name: text is "name"
  kSymbol,   // @name or @"name": text is the name
  kHash,     // #stablehlo.dot, #loc1, the #0 of %4#0: text follows the '#'
  kBang,     // !stablehlo.token
  kCaret,    // ^bb0
  kArrow,    // ->
  kPunct,    // one character
};

class Lexer {
 public:
  // `file` names the text in errors; it must outlive the lexer.
  explicit Lexer(std::string_view source, const char* file = "program");

  std::string_view source() const { return source_; }
  Token kind() const { return kind_; }
  // The text of the current token; see Token.
  std::string_view text() const { return text_; }
  size_t offset() const { return offset_; }
  // Where the current token ends: raw scanners continue there and reset() behind what they read.
  size_t end() const { return end_; }
  void reset(size_t offset) {
    end_ = offset;
    advance();
  }
  void advance();

  bool at(char punct) const { return kind_ == Token::kPunct && text_[0] == punct; }
  bool at_word(std::string_view word) const { return kind_ == Token::kWord && text_ == word; }
  bool accept(char punct);
  bool accept_word(std::string_view word);
  bool accept(Token kind);
  void expect(char punct);
  void expect_word(std::string_view word);
  // Takes a token of this kind and gives its text; `what` names it in the message.
  std::string_view take(Token kind, const char* what);
  std::string take_string();
  int64_t take_integer();

  // At an opening bracket: continues behind its closing one, over anything.
  void skip_balanced();
  // Over the rest of a line at depth zero.
  void skip_line();
  // loc(...), where locations may stand.
  void skip_location();

  // From 1.
  uint32_t line(size_t offset) const;
  // "12:7".
  std::string place(size_t offset) const;
  [[noreturn]] void fail(std::string_view rule, std::string_view message, size_t offset,
                         std::string_view fix = {}) const;
  [[noreturn]] void fail(std::string_view message) const { fail("text.syntax", message, offset_); }
  [[noreturn]] void fail_expected(std::string_view what) const;

  static constexpr int kMaxDepth = 64;
  // Counts recursion of the grammar while it lives.
  class Nesting {
   public:
    explicit Nesting(Lexer& lexer) : lexer_(lexer) {
      if (++lexer_.depth_ > kMaxDepth)
        lexer_.fail("text.depth", "nested deeper than 64 levels", lexer_.offset_);
    }
    ~Nesting() { --lexer_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Lexer& lexer_;
  };

 private:
  void set(Token kind, size_t text_begin, size_t text_end, size_t end) {
    kind_ = kind;
    text_ = source_.substr(text_begin, text_end - text_begin);
    end_ = end;
  }
  void skip_space();
  void lex_number();
  void lex_quoted(Token kind, size_t quote);
  size_t word_end(size_t from) const;

  std::vector<uint32_t> line_ends_;
  const char* file_;
  std::string_view source_, text_;
  size_t offset_ = 0, end_ = 0, last_end_ = 0;
  Token kind_ = Token::kEnd;
  int depth_ = 0;
};

// What stands between quotes, with its escapes resolved.
std::string unescape(std::string_view quoted);
// The other way, with the quotes.
std::string quote(std::string_view text);

}  // namespace espalier::text
