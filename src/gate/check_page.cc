#include "gate/check_page.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "base/shortened.h"
#include "evaluate/slices.h"
#include "fairness/assessment_page.h"
#include "gate/sentence.h"

namespace espalier {
namespace {

Standing standing_of(Ruling ruling) {
  return ruling == Ruling::kPass      ? Standing::kPass
         : ruling == Ruling::kBlocked ? Standing::kBlocked
                                      : Standing::kUndecided;
}

Standing standing_of(const GateResult& result) {
  if (result.ruling != Ruling::kPass)
    return result.is_warning() ? Standing::kWarns : standing_of(result.ruling);
  const bool waived =
      std::ranges::any_of(result.findings, [](const Finding& x) { return x.waiver.has_value(); });
  return waived ? Standing::kWaived : Standing::kPass;
}

// The section that tells more of a gate.
std::string link_of(const Gate& gate) {
  return gate.where == Where::kData ? "data" : gate.where == Where::kBetween ? "fairness" : "slices";
}

VerdictItem item_of(const GateResult& result, double level, const CheckPage& about) {
  VerdictItem out{.standing = standing_of(result),
                  .what = result.gate.name,
                  .number = number_sentence_of(result, level),
                  .limit = limit_text(result.gate),
                  .note = printable(waivers_text(result)),
                  .link = link_of(result.gate)};
  if (out.standing < Standing::kWaived && about.closer) out.next = about.closer(result.gate);
  return out;
}

// The verdict as a page says it: its word, and the rest of its sentence, which names none of the `hidden`.
VerdictBanner banner_of(const Verdict& verdict, const CheckPage& about,
                        const std::vector<std::string>& hidden) {
  const size_t colon = std::min(verdict.sentence.find(": "), verdict.sentence.size());
  VerdictBanner out{.standing = standing_of(verdict.ruling),
                    .word = verdict.sentence.substr(0, colon),
                    .sentence = without_names(
                        verdict.sentence.substr(std::min(colon + 2, verdict.sentence.size())), hidden),
                    .items = {},
                    .next = about.next};
  if (!out.sentence.empty())
    out.sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out.sentence[0])));
  for (const GateResult& result : verdict.results) {
    VerdictItem item = item_of(result, verdict.level, about);
    for (std::string* text : {&item.what, &item.number, &item.note, &item.next})
      *text = without_names(*text, hidden);
    out.items.push_back(std::move(item));
  }
  std::ranges::stable_sort(out.items, {}, &VerdictItem::standing);
  return out;
}

// Slices that gates name and no row is of.
std::vector<std::string> slices_of_none(const Verdict& verdict, const Assessment& assessment) {
  std::vector<std::string> out;
  for (const GateResult& result : verdict.results) {
    for (const std::string& name : {result.gate.slice, result.gate.against}) {
      const bool there = std::ranges::any_of(assessment.by, [&](const SlicingFigures& by) {
        return std::ranges::any_of(by.slices, [&](const auto& its) { return its.slice.name == name; });
      });
      if (!there && !parts_of_slice(name).empty()) out.push_back(name);
    }
  }
  return out;
}

// What stands between tags, piece by piece; and what scripts read, since sliders show that.
std::vector<std::string> pieces(const std::string& page) {
  std::vector<std::string> out;
  for (size_t at = 0; at < page.size();) {
    const size_t open = std::min(page.find('<', at), page.size());
    std::string text = page.substr(at, open - at);
    if (!std::ranges::all_of(text, [](unsigned char c) { return std::isspace(c); }))
      out.push_back(std::move(text));
    at = std::min(page.find('>', open), page.size());
    out.push_back(page.substr(open, at - open));
    ++at;
  }
  return out;
}

std::vector<std::string> texts(const std::vector<std::string>& pieces) {
  std::vector<std::string> out;
  std::ranges::copy_if(pieces, std::back_inserter(out),
                       [](const std::string& piece) { return !piece.starts_with('<'); });
  return out;
}

// What a text holds around a place.
std::string around(const std::string& text, size_t place) {
  constexpr size_t kBefore = 24, kShown = 64;
  const size_t begin = place - std::min(place, kBefore);
  return cat(begin ? "..." : "", text.substr(begin, kShown), begin + kShown < text.size() ? "..." : "");
}

}  // namespace

std::string check_page(const Verdict& verdict, const Assessment& assessment, const CheckPage& about) {
  std::vector<std::string> hidden = names_of_few(assessment, about.k);
  const Verdict said = without_figures(verdict, hidden);
  for (const std::string& slice : slices_of_none(verdict, assessment)) hidden.push_back(slice);
  return assessment_page(assessment, {.title = "Release check",
                                      .subject = about.subject,
                                      .verdict = banner_of(said, about, hidden),
                                      .k = about.k,
                                      .sections = about.sections,
                                      .rows = about.rows});
}

std::vector<std::string> page_differences(const std::string& page, const std::string& now, size_t most) {
  // What people read, before marks and drawings.
  std::vector<std::string> ours = pieces(page), theirs = pieces(now);
  std::vector<std::string> our_texts = texts(ours), their_texts = texts(theirs);
  if (our_texts != their_texts) {
    ours = std::move(our_texts);
    theirs = std::move(their_texts);
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()) && out.size() < most; ++i) {
    const std::string a = i < ours.size() ? ours[i] : "nothing",
                      b = i < theirs.size() ? theirs[i] : "nothing";
    if (a == b) continue;
    const auto place = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    out.push_back(cat("the page says ", around(a, place), "\n  these rows give ", around(b, place)));
  }
  if (out.empty() && page != now) out.emplace_back("the page is spaced otherwise");
  return out;
}

}  // namespace espalier
