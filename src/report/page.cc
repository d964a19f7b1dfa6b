#include "report/page.h"

#include "base/format.h"
#include "espalier/error.h"
#include "report/page_script.h"
#include "report/page_style.h"

namespace espalier {
namespace {

Html section(const PageSection& section) {
  const std::string title_id = cat(section.id, "-title");
  return element("section", {{"id", section.id}, {"aria-labelledby", title_id}},
                 element("h2", {{"id", title_id}},
                         element("a", {{"href", cat("#", section.id)}, {"class", "deep"}}, section.title)) +
                     section.body) +
         Html("\n");
}

Html head(const Page& page) {
  // Scripts and styles of the page itself and nothing else: also what slipped through could fetch nothing.
  const char* policy =
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'";
  return element(
      "head",
      element("meta", {{"charset", "utf-8"}}) +
          element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}}) +
          element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
          element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}) +
          element("title", page.title) + element("style", Html::raw(kPageStyle)) +
          element("noscript", Html::raw("<style>.scripted{display:none}</style>")));
}

}  // namespace

std::string html(const Page& page) {
  Html links, sections;
  if (page.verdict) links += element("a", {{"href", "#verdict"}}, "Verdict");
  for (const PageSection& each : page.sections) {
    links += element("a", {{"href", cat("#", each.id)}}, each.title);
    sections += section(each);
  }
  Html header = element("h1", page.title);
  if (!page.subtitle.empty()) header += element("p", page.subtitle);
  if (!page.notice.empty())
    header += element("p", {{"class", "notice"}, {"role", "note"}}, element("b", page.notice));
  const Html body = element("a", {{"href", "#content"}, {"class", "skip"}}, "Skip to the content") +
                    element("header", header) +
                    element("main", {{"id", "content"}, {"tabindex", "-1"}},
                            (page.verdict ? drawn(*page.verdict) : Html()) +
                                element("nav", {{"aria-label", "Sections"}}, links) + sections) +
                    element("footer", page.footer) + element("script", Html::raw(kPageScript));
  const std::string out =
      cat("<!doctype html>\n", element("html", {{"lang", "en"}}, head(page) + element("body", body)).markup(),
          "\n");
  if (out.size() > kMostPageBytes) {
    throw ValueError("report.page_size",
                     cat("a page has at most ", kMostPageBytes, " bytes, this one would have ", out.size()));
  }
  return out;
}

}  // namespace espalier
