// TOML that people write: where in it a mistake stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

// What the parser asserts is at times about the text: "[.a]" holds no key. Without this it would be
// undefined.
namespace espalier {
struct TomlAssertion {};
[[noreturn]] inline void toml_assertion() { throw TomlAssertion{}; }
}  // namespace espalier
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(holds) ((holds) ? static_cast<void>(0) : ::espalier::toml_assertion())
#define TOML_HEADER_ONLY 0
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
// No plan nests deeper than layers, layer, initializer.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace espalier {

class TomlDocument {
 public:
  // Mistakes begin with `source`, and their rules with `kind`: FormatError[plan.syntax]. Raises size beyond
  // 1 MiB and syntax.
  TomlDocument(const std::string& text, std::string source, std::string kind);

  const toml::table& root() const { return root_; }
  // "plan.toml, line 3, column 9".
  std::string place(const toml::source_position& at) const;

  [[noreturn]] void fail(const std::string& rule, const toml::source_position& at, const std::string& message,
                         const std::string& fix = "") const;
  [[noreturn]] void fail(const std::string& rule, const toml::node& at, const std::string& message,
                         const std::string& fix = "") const {
    fail(rule, at.source().begin, message, fix);
  }
  // A word that is none of the known ones, with the nearest of them; `more`: what else is to be said.
  [[noreturn]] void unknown(const std::string& rule, const toml::source_position& at, const std::string& what,
                            const std::string& word, const std::vector<std::string>& known,
                            const std::string& more = "") const;
  // Raises key for the first key of `table` that is none of the known ones, and names the others. `what`:
  // "key of data".
  void check_keys(const toml::table& table, const std::string& what,
                  const std::vector<std::string>& known) const;

 private:
  void check_bare_text(const std::string& text) const;
  void refuse_second(const std::string& text, const toml::source_position& at,
                     std::string_view description) const;
  toml::table parsed(const std::string& text) const;

  std::string source_, kind_;
  toml::table root_;
};

// "a TOML string", as mistakes call the type of a value.
std::string toml_type(const toml::node& node);
// In quotes. Raises ValueError[toml.utf8].
std::string toml_quoted(const std::string& text);

}  // namespace espalier
