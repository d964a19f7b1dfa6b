#include "text/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/digits.h"

namespace espalier::text {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '$'; }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Lexer::Lexer(std::string_view source, const char* file) : file_(file), source_(source) {
  if (source.size() >= 0xffffffffu) throw FormatError("text.size", "a text of more than 4 GiB");
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (source.starts_with(kByteOrderMark)) end_ = kByteOrderMark.size();
  for (size_t i = source.find('\n'); i != std::string_view::npos; i = source.find('\n', i + 1))
    line_ends_.push_back(static_cast<uint32_t>(i));
  advance();
}

size_t Lexer::word_end(size_t from) const {
  while (from < source_.size() && is_word(source_[from])) ++from;
  return from;
}

void Lexer::skip_space() {
  while (end_ < source_.size()) {
    const char c = source_[end_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++end_;
    } else if (c == '/' && end_ + 1 < source_.size() && source_[end_ + 1] == '/') {
      end_ = std::min(source_.find('\n', end_), source_.size());
    } else {
      return;
    }
  }
}

void Lexer::lex_number() {
  size_t i = offset_;
  if (source_[i] == '-') ++i;
  if (source_.compare(i, 2, "0x") == 0 && i + 2 < source_.size() && hex_digit(source_[i + 2]) >= 0) {
    i += 2;
    while (i < source_.size() && hex_digit(source_[i]) >= 0) ++i;
    return set(Token::kHex, offset_, i, i);
  }
  Token kind = Token::kInteger;
  const auto digits = [&] {
    while (i < source_.size() && is_digit(source_[i])) ++i;
  };
  digits();
  if (i < source_.size() && source_[i] == '.') {
    kind = Token::kFloat;
    ++i;
    digits();
  }
  if (i < source_.size() && (source_[i] == 'e' || source_[i] == 'E')) {
    size_t j = i + 1;
    if (j < source_.size() && (source_[j] == '+' || source_[j] == '-')) ++j;
    if (j < source_.size() && is_digit(source_[j])) {
      kind = Token::kFloat;
      i = j;
      digits();
    }
  }
  set(kind, offset_, i, i);
}

void Lexer::lex_quoted(Token kind, size_t quote) {
  size_t i = quote + 1;
  for (;;) {
    i = source_.find_first_of("\"\\\n", i);
    if (i == std::string_view::npos || source_[i] == '\n')
      fail("text.syntax", "a string without its end", offset_);
    if (source_[i] == '"') break;
    i += 2;
    if (i > source_.size()) fail("text.syntax", "a string without its end", offset_);
  }
  set(kind, quote + 1, i, i + 1);
}

void Lexer::advance() {
  last_end_ = end_;
  skip_space();
  offset_ = end_;
  if (offset_ >= source_.size()) return set(Token::kEnd, source_.size(), source_.size(), source_.size());
  const char c = source_[offset_];
  const char after = offset_ + 1 < source_.size() ? source_[offset_ + 1] : '\0';
  if (is_letter(c)) {
    const size_t end = word_end(offset_);
    return set(Token::kWord, offset_, end, end);
  }
  if (is_digit(c) || (c == '-' && is_digit(after))) return lex_number();
  const auto name = [&](Token kind) {
    size_t end = offset_ + 1;
    while (end < source_.size() && (is_word(source_[end]) || source_[end] == '-')) ++end;
    if (end == offset_ + 1) return set(Token::kPunct, offset_, end, end);
    set(kind, offset_ + 1, end, end);
  };
  switch (c) {
    case '"':
      return lex_quoted(Token::kString, offset_);
    case '@':
      if (after == '"') return lex_quoted(Token::kSymbol, offset_ + 1);
      return name(Token::kSymbol);
    case '%':
      return name(Token::kValue);
    case '^':
      return name(Token::kCaret);
    case '#':
    case '!': {
      const size_t end = word_end(offset_ + 1);
      if (end == offset_ + 1) return set(Token::kPunct, offset_, end, end);
      return set(c == '#' ? Token::kHash : Token::kBang, offset_ + 1, end, end);
    }
    case '-':
      if (after == '>') return set(Token::kArrow, offset_, offset_ + 2, offset_ + 2);
      [[fallthrough]];
    default:
      return set(Token::kPunct, offset_, offset_ + 1, offset_ + 1);
  }
}

bool Lexer::accept(char punct) {
  if (!at(punct)) return false;
  advance();
  return true;
}
bool Lexer::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}
bool Lexer::accept(Token kind) {
  if (kind_ != kind) return false;
  advance();
  return true;
}
void Lexer::expect(char punct) {
  if (!accept(punct)) fail_expected(cat("'", std::string(1, punct), "'"));
}
void Lexer::expect_word(std::string_view word) {
  if (!accept_word(word)) fail_expected(cat("'", word, "'"));
}
std::string_view Lexer::take(Token kind, const char* what) {
  if (kind_ != kind) fail_expected(what);
  const std::string_view text = text_;
  advance();
  return text;
}
std::string Lexer::take_string() { return unescape(take(Token::kString, "a string")); }

int64_t Lexer::take_integer() {
  if (kind_ != Token::kInteger) fail_expected("an integer");
  int64_t value = 0;
  if (std::from_chars(text_.data(), text_.data() + text_.size(), value).ec != std::errc())
    fail(cat("an integer beyond 64 bits: ", text_));
  advance();
  return value;
}

void Lexer::skip_balanced() {
  const size_t start = offset_;
  std::string closers;
  do {
    if (kind_ == Token::kEnd) fail("text.syntax", "a bracket without its end", start);
    if (kind_ == Token::kPunct) {
      const char c = text_[0];
      if (const char* open = std::strchr("([{<", c)) {
        closers.push_back(")]}>"[open - &"([{<"[0]]);
      } else if (std::strchr(")]}>", c)) {
        if (closers.empty() || closers.back() != c) fail(cat("'", std::string(1, c), "' closes nothing"));
        closers.pop_back();
      }
    }
    advance();
  } while (!closers.empty());
}

void Lexer::skip_line() {
  for (;;) {
    if (kind_ == Token::kPunct && std::strchr("([{<", text_[0])) {
      skip_balanced();
    } else {
      advance();
    }
    if (kind_ == Token::kEnd) return;
    if (source_.substr(last_end_, offset_ - last_end_).find('\n') != std::string_view::npos) return;
  }
}

void Lexer::skip_location() {
  if (at_word("loc")) {
    advance();
    if (!at('(')) fail_expected("'('");
    skip_balanced();
  }
}

uint32_t Lexer::line(size_t offset) const {
  const auto it = std::lower_bound(line_ends_.begin(), line_ends_.end(), offset);
  return static_cast<uint32_t>(it - line_ends_.begin()) + 1;
}

std::string Lexer::place(size_t offset) const {
  const uint32_t number = line(offset);
  const size_t start = number == 1 ? 0 : line_ends_[number - 2] + size_t{1};
  return cat(number, ":", offset - start + 1);
}

void Lexer::fail(std::string_view rule, std::string_view message, size_t offset, std::string_view fix) const {
  const CallScope scope({file_, line(offset)});
  throw FormatError(rule, cat(message, " at ", place(offset)), fix);
}

void Lexer::fail_expected(std::string_view what) const {
  if (kind_ == Token::kEnd) fail(cat("expected ", what, ", found the end"));
  const size_t length = std::min<size_t>(end_ - offset_, 40);
  fail(cat("expected ", what, ", found ", source_.substr(offset_, length)));
}

std::string unescape(std::string_view quoted) {
  std::string out;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      out += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    const int high = hex_digit(c), low = i + 1 < quoted.size() ? hex_digit(quoted[i + 1]) : -1;
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7f) {
      out += '\\';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace espalier::text
