#include "fairness/assessment_page.h"

#include <algorithm>

#include "base/format.h"
#include "base/shortest.h"
#include "fairness/page_sections.h"

namespace espalier {
namespace {

// Of all slicings together; where the page grows too long for that, half as many, and so on.
constexpr size_t kMostSlices = 200;

std::string subtitle(const PageFacts& facts) {
  const std::string& subject = facts.options().subject;
  std::string out =
      cat(subject, subject.empty() ? "" : ": ", grouped(facts.given().overall.slice.rows), " rows");
  if (facts.given().has_thresholds()) out += cat(", threshold ", shortest(facts.threshold()));
  if (const std::string& positive = facts.given().options.positive_rows; !positive.empty())
    out += cat(", positive is ", positive);
  return out;
}

Page page_of(const PageFacts& facts, size_t most) {
  const AssessmentPageOptions& options = facts.options();
  Page out{.title = options.title, .subtitle = subtitle(facts), .verdict = verdict_of(facts), .sections = {}};
  const auto add = [&](const char* id, const char* title, const Html& body) {
    if (!body.empty()) out.sections.push_back({id, title, body});
  };
  add("slices", "Slices", slices_section(facts, most));
  add("fairness", "Fairness", fairness_section(facts, most));
  if (!facts.given().overall.histogram.empty())
    add("thresholds", "Thresholds", thresholds_section(facts, most));
  add("classes", "Classes", classes_section(facts, most));
  add("tenths", "Predicted against true", tenths_section(facts));
  out.sections.insert(out.sections.end(), options.sections.begin(), options.sections.end());
  add("definitions", "What the numbers mean", definitions_section(facts));
  for (VerdictItem& item : out.verdict->items) {
    if (!std::ranges::count(out.sections, item.link, &PageSection::id)) item.link.clear();
  }
  const std::string rows = cat(grouped(options.rows), options.rows == 1 ? " row" : " rows");
  if (options.rows > 0) out.notice = cat("This page holds ", rows, " of people, as they are.");
  out.footer = cat("Made by Espalier from counts",
                   options.rows > 0 ? cat(" and ", rows, ", which name what they name")
                                    : cat(": no row is in this file, and no value of fewer than ", options.k,
                                          " rows is named"),
                   ". It asks no network for anything.");
  return out;
}

}  // namespace

std::string assessment_page(const Assessment& assessment, const AssessmentPageOptions& options) {
  const PageFacts facts(assessment, options);
  const size_t slicings = std::max<size_t>(facts.given().by.size(), 1);
  for (size_t most = kMostSlices;; most /= 2) {
    const Page page = page_of(facts, std::max<size_t>(most / slicings, 1));
    size_t bytes = 0;
    for (const PageSection& section : page.sections) bytes += section.body.markup().size();
    if (bytes < kMostPageBytes - kMostPageBytes / 20 || most == 1) return html(page);
  }
}

}  // namespace espalier
