#include "report/html.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace espalier {
namespace {

constexpr std::array<std::string_view, 3> kWithoutEnd{"meta", "input", "br"};

}  // namespace

Html::Html(std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        markup_ += "&amp;";
        break;
      case '<':
        markup_ += "&lt;";
        break;
      case '>':
        markup_ += "&gt;";
        break;
      case '"':
        markup_ += "&quot;";
        break;
      case '\'':
        markup_ += "&#39;";
        break;
      default:
        // HTML has no word for control characters.
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
          markup_ += "\xef\xbf\xbd";
        } else {
          markup_ += c;
        }
    }
  }
}

Html Html::raw(std::string markup) {
  Html out;
  out.markup_ = std::move(markup);
  return out;
}

Html element(std::string_view tag, const std::vector<HtmlAttribute>& attributes, const Html& content) {
  std::string out = cat("<", tag);
  for (const HtmlAttribute& attribute : attributes) {
    if (attribute.value.empty()) continue;
    out += cat(" ", attribute.name, "=\"", Html(attribute.value).markup(), "\"");
  }
  out += cat(">", content.markup());
  if (std::ranges::find(kWithoutEnd, tag) == kWithoutEnd.end()) out += cat("</", tag, ">");
  return Html::raw(std::move(out));
}

Html script_data(std::string_view json) {
  std::string safe;
  for (const char c : json) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return element("script", {{"type", "application/json"}}, Html::raw(std::move(safe)));
}

std::string grouped(int64_t count) {
  const std::string digits = cat(count);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace espalier
