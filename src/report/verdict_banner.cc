#include "report/verdict_banner.h"

#include "base/format.h"

namespace espalier {
namespace {

constexpr size_t kOpen = 3;

struct Look {
  const char *style, *word, *sign;  // the sign tells them apart without colours
};
Look look(Standing standing) {
  switch (standing) {
    case Standing::kPass:
      return {"pass", "passes", "M4 11l4 4 8-9"};
    case Standing::kBlocked:
      return {"blocked", "blocks", "M5 5l10 10M15 5L5 15"};
    case Standing::kUndecided:
      return {"undecided", "undecided", "M6 7a4 4 0 1 1 6.5 3C11 11 10 11.5 10 13.5M10 17.5v.1"};
    case Standing::kWarns:
      return {"warns", "warns", "M10 3v9M10 17v.1"};
    case Standing::kWaived:
      return {"waived", "waived", "M3 5l14 10M4 10h12"};
    case Standing::kUnjudged:
      break;
  }
  return {"unjudged", "not judged", "M4 10h12"};
}

Html sign(Standing standing) {
  const Look its = look(standing);
  return element("svg",
                 {{"class", cat("sign ", its.style)},
                  {"viewBox", "0 0 20 20"},
                  {"role", "img"},
                  {"aria-label", its.word}},
                 element("path", {{"d", its.sign}}));
}

Html command(const std::string& text) {
  return element("span", {{"class", "next"}}, Html("next: ") + element("code", text));
}

Html drawn_item(const VerdictItem& item) {
  const Html what =
      item.link.empty() ? element("b", item.what) : element("a", {{"href", cat("#", item.link)}}, item.what);
  Html out = sign(item.standing) + what + Html(cat(": ", item.number));
  if (!item.limit.empty()) out += element("span", {{"class", "limit"}}, cat(", limit ", item.limit));
  if (!item.note.empty()) out += Html(cat("; ", item.note));
  if (!item.next.empty()) out += Html(" ") + command(item.next);
  return element("li", out);
}

Html list_of_items(const std::vector<VerdictItem>& items, size_t from, size_t to) {
  Html out;
  for (size_t i = from; i < to; ++i) out += drawn_item(items[i]);
  return element("ul", {{"class", "items"}}, out);
}

}  // namespace

Html drawn(const VerdictBanner& verdict) {
  const size_t count = verdict.items.size(), open = std::min(count, kOpen);
  Html out = element("h2", {{"id", "verdict-word"}}, sign(verdict.standing) + Html(verdict.word)) +
             element("p", {{"class", "sentence"}}, verdict.sentence);
  if (count > 0) out += list_of_items(verdict.items, 0, open);
  if (count > open) {
    out += element("details", element("summary", cat(count - open, " more")) +
                                  list_of_items(verdict.items, open, count));
  }
  if (!verdict.next.empty()) out += element("p", command(verdict.next));
  return element("section",
                 {{"id", "verdict"},
                  {"class", cat("verdict ", look(verdict.standing).style)},
                  {"aria-labelledby", "verdict-word"}},
                 out);
}

}  // namespace espalier
