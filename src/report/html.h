// Markup of HTML, in which text is always escaped.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

class Html {
 public:
  Html() = default;
  Html(std::string_view text);
  Html(const std::string& text) : Html(std::string_view(text)) {}
  Html(const char* text) : Html(std::string_view(text)) {}
  // What is markup already, and never comes from outside.
  static Html raw(std::string markup);

  bool empty() const { return markup_.empty(); }
  const std::string& markup() const { return markup_; }
  Html& operator+=(const Html& more) {
    markup_ += more.markup_;
    return *this;
  }
  friend Html operator+(Html a, const Html& b) { return a += b; }

 private:
  std::string markup_;
};

struct HtmlAttribute {
  std::string_view name;
  std::string value = {};  // "": the attribute is left out
};
Html element(std::string_view tag, const std::vector<HtmlAttribute>& attributes, const Html& content = {});
// A template, so that braces are attributes.
template <class Content>
requires std::convertible_to<Content, Html> Html element(std::string_view tag, const Content& content) {
  return element(tag, {}, content);
}

// JSON for a script element to read: no text in it can end that element.
Html script_data(std::string_view json);

// "12,345".
std::string grouped(int64_t count);

}  // namespace espalier
