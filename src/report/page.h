// One HTML file that a person opens: it holds all it needs and asks no network for anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/html.h"
#include "report/verdict_banner.h"

namespace espalier {

inline constexpr size_t kMostPageBytes = 2'000'000;

struct PageSection {
  std::string id;  // of the deep link: letters, digits, hyphens
  std::string title;
  Html body;
};
struct Page {
  std::string title, subtitle = {};
  std::string notice = {};  // what a reader must know before all else
  std::optional<VerdictBanner> verdict = {};
  std::vector<PageSection> sections;
  std::string footer = {};
};
// The same page gives the same bytes. Raises ValueError[report.page_size] beyond kMostPageBytes.
std::string html(const Page& page);

}  // namespace espalier
