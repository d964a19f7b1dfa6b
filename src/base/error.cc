#include "espalier/error.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/listed_names.h"

namespace espalier {
namespace {

struct CallState {
  Location at;
  bool active = false;
};
thread_local CallState call_state;
thread_local const CallScope* innermost_scope = nullptr;
thread_local std::string name_path;

// Tests beside the sources are users.
bool in_library(const Location& location) {
  const std::string_view here = Location::here().file, file = location.file;
  const std::string_view sources = here.substr(0, here.size() - std::string_view("base/error.cc").size());
  return file.starts_with(sources) && !file.ends_with("_test.cc") && !file.ends_with("_test.h");
}

std::string fix_line(std::string_view fix) { return fix.empty() ? "" : cat("\n  fix: ", fix); }

std::string compose(std::string_view kind, std::string_view rule, std::string_view message,
                    std::string_view fix) {
  std::string text(kind);
  if (!rule.empty()) text += cat("[", rule, "]");
  const Location outer = CallScope::current(), inner = CallScope::innermost();
  if (inner.known() && inner != outer) text += cat(" at ", inner, ", called");
  if (outer.known()) text += cat(" at ", outer);
  if (!name_path.empty()) text += cat(", ", name_path);
  return cat(text, "\n  ", message, fix_line(fix));
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string small_letters(std::string_view word) {
  std::string out;
  for (const char c : word) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Whether `text` goes on behind `word` with another word: "Price (EUR)" behind "price".
bool begins(std::string_view text, std::string_view word) {
  constexpr size_t kLeast = 3;
  return word.size() >= kLeast && text.size() > word.size() &&
         (text[word.size()] == ' ' || text[word.size()] == '-') &&
         small_letters(text.substr(0, word.size())) == small_letters(word);
}

// Whether `word` is at least the first half of one long word: BatchNorm of BatchNormalization.
bool is_cut_off(std::string_view word, std::string_view whole) {
  constexpr size_t kLeast = 5;
  return word.size() >= kLeast && 2 * word.size() >= whole.size() && whole.find(' ') == whole.npos &&
         small_letters(whole).starts_with(small_letters(word));
}

std::string sorted_letters(std::string_view word) {
  std::string letters = small_letters(word);
  std::ranges::sort(letters);
  return letters;
}

}  // namespace

std::string to_string(const Location& location) {
  if (!location.known()) return "";
  std::string_view file = location.file;
  if (const size_t slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  return cat(file, ":", location.line);
}

Error::Error(std::string_view kind, std::string_view rule, std::string_view message, std::string_view fix)
    : kind_(kind), rule_(rule), message_(message), fix_(fix), text_(compose(kind, rule, message, fix)) {}

void Error::add(std::string_view more) {
  message_ += more;
  text_.insert(text_.size() - fix_line(fix_).size(), more);
}

InternalError::InternalError(std::string_view message, Location at)
    : Error("InternalError", "", cat(message, " (", at, ")"),
            "this is a bug in Espalier: please report it with this text") {}

CallScope::CallScope(Location at)
    : at_(at), outer_(std::exchange(innermost_scope, this)), outermost_(!call_state.active && at.known()) {
  if (outermost_) call_state = {at, true};
}
CallScope::~CallScope() {
  innermost_scope = outer_;
  if (outermost_) call_state = {};
}
Location CallScope::innermost() {
  const CallScope* scope = innermost_scope;
  while (scope && (!scope->at_.known() || in_library(scope->at_))) scope = scope->outer_;
  return scope ? scope->at_ : Location{};
}
Location CallScope::current() { return call_state.at; }
Location CallScope::exchange(Location at) { return std::exchange(call_state, {at, at.known()}).at; }

NameScope::NameScope(std::string_view name) : length_(name_path.size()) {
  if (name.empty()) return;
  if (!name_path.empty()) name_path += '/';
  name_path += name;
}
NameScope::~NameScope() { name_path.resize(length_); }
const std::string& NameScope::current() { return name_path; }

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  // Longer words are no slips of the finger, and comparing them takes the product of their lengths.
  constexpr size_t kLongest = 256;
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& candidate : known) {
    if (std::max(word.size(), candidate.size()) > kLongest) continue;
    const size_t distance = edit_distance(word, candidate);
    if (begins(candidate, word) || begins(word, candidate) || is_cut_off(word, candidate)) {
      ranked.emplace_back(distance, candidate);
      continue;
    }
    if (distance > std::max<size_t>(2, word.size() / 3)) continue;
    // Most of a short word: then its letters have changed places or case, or it is another word.
    if (2 * distance > std::max(word.size(), candidate.size()) &&
        sorted_letters(word) != sorted_letters(candidate))
      continue;
    ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min<size_t>(3, ranked.size()); ++i) out.push_back(ranked[i].second);
  return out;
}

void throw_unknown(std::string_view rule, std::string_view what, std::string_view word,
                   const std::vector<std::string>& known) {
  constexpr size_t kMostNamed = 100;
  const auto join = [&](const std::vector<std::string>& words, const char* between, bool quoted) {
    std::string out;
    for (size_t i = 0; i < std::min(words.size(), kMostNamed); ++i) {
      const std::string listed = name_in_list(words[i]);
      out += cat(out.empty() ? "" : between, quoted && listed == words[i] ? quoted_text(words[i]) : listed);
    }
    return words.size() > kMostNamed ? cat(out, " and ", words.size() - kMostNamed, " more") : out;
  };
  std::vector<std::string> close = nearest(word, known);
  // What stands before the comma of a name that a list took for two.
  for (const std::string& name : known) {
    if (close.empty() && !word.empty() && name.starts_with(word) && name_in_list(name) != name)
      close.push_back(name);
  }
  throw ValueError(rule,
                   cat("unknown ", what, " \"", word,
                       "\": ", known.empty() ? "there is none" : cat("known are ", join(known, ", ", false))),
                   close.empty() ? "" : cat("did you mean ", join(close, " or ", true), "?"));
}

}  // namespace espalier
