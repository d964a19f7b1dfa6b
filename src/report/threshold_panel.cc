#include "report/threshold_panel.h"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortest.h"
#include "report/histogram.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBars = 50, kPerBar = 20;

std::vector<double> coarse(const PanelSlice& slice, size_t label) {
  std::vector<double> out(kBars);
  for (size_t i = 0; i < slice.bins.size(); ++i) {
    const size_t bar = i == 0 ? 0 : (i - 1) / kPerBar;
    out[std::min(bar, kBars - 1)] += slice.bins[i][label].weight;
  }
  return out;
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// Numbers with commas between, zeros as nothing.
template <class Of>
std::string list(const PanelSlice& slice, size_t label, Of&& of) {
  std::string out;
  for (size_t i = 0; i < slice.bins.size(); ++i) {
    const double value = of(slice.bins[i][label]);
    if (i > 0) out += ',';
    if (value != 0) out += digits(value);
  }
  return out;
}

// Rows, and where they do not all weigh 1 weights and their squares.
Json data_of(const PanelSlice& slice) {
  bool plain = true;
  for (const std::array<ScoreBin, 2>& bin : slice.bins) {
    for (const ScoreBin& of : bin) {
      const auto rows = static_cast<double>(of.rows);
      plain = plain && of.weight == rows && of.squares == rows;
    }
  }
  Json out = Json::array();
  for (const size_t label : {0, 1}) {
    Json lists = {list(slice, label, [](const ScoreBin& bin) { return static_cast<double>(bin.rows); })};
    if (!plain) {
      lists.push_back(list(slice, label, [](const ScoreBin& bin) { return bin.weight; }));
      lists.push_back(list(slice, label, [](const ScoreBin& bin) { return bin.squares; }));
    }
    out.push_back(lists);
  }
  return out;
}

Json data_of(const ThresholdPanel& panel) {
  Json slices = Json::array(), compared = Json::array(), rates = Json::array();
  for (const PanelSlice& slice : panel.slices) {
    slices.push_back(data_of(slice));
    compared.push_back(slice.grey.empty());
  }
  for (const PanelRate& rate : panel.rates) {
    rates.push_back(
        {{"name", rate.name}, {"formula", rate.formula}, {"part", rate.part}, {"whole", rate.whole}});
  }
  return {{"level", cat(shortest(100 * panel.level), " %")},
          {"width", panel.width},
          {"rates", rates},
          {"compared", compared},
          {"slices", slices}};
}

Html slider(const std::string& label, const std::string& value) {
  return element("input", {{"type", "range"},
                           {"min", "0"},
                           {"max", "1000"},
                           {"value", value},
                           {"aria-label", label},
                           {"autocomplete", "off"}});
}

Html row(const PanelSlice& slice, const std::string& at, size_t rates) {
  Html name = slice.name;
  for (const std::string& more : {slice.note, slice.grey}) {
    if (!more.empty()) name += element("small", more);
  }
  Html cells = element("th", {{"scope", "row"}, {"data-v", slice.name}}, name) +
               element("td", {{"class", "scores"}},
                       mirrored_histogram(coarse(slice, 1), coarse(slice, 0)) +
                           slider(cat("threshold of ", slice.name), at) + element("output", ""));
  for (size_t i = 0; i < rates; ++i) cells += element("td", {{"class", "number"}});
  return element("tr", {{"class", slice.grey.empty() ? "" : "grey"}}, cells) + Html("\n");
}

Html foot_row(const std::string& name, const std::string& style, size_t rates) {
  Html cells = element("th", {{"scope", "row"}}, name) + element("td", "");
  for (size_t i = 0; i < rates; ++i) cells += element("td", {{"class", "number"}});
  return element("tr", {{"class", style}}, cells);
}

}  // namespace

Html drawn(const ThresholdPanel& panel) {
  const size_t rates = panel.rates.size();
  const std::string at = cat(std::clamp(std::lround(1000 * panel.threshold), 0l, 1000l));
  Html head = element("th", {{"scope", "col"}}, "slice") +
              element("th", {{"scope", "col"}}, "scores, threshold"),
       body;
  for (const PanelRate& rate : panel.rates) {
    head += element("th", {{"scope", "col"}, {"class", "number"}, {"title", rate.formula}}, rate.name);
  }
  for (const PanelSlice& slice : panel.slices) body += row(slice, at, rates);
  const std::string caption_id = cat(panel.id, "-caption");
  const Html table = element("table", {{"id", panel.id}},
                             element("caption", {{"id", caption_id}}, panel.caption) +
                                 element("thead", element("tr", head)) + element("tbody", body) +
                                 element("tfoot", foot_row("highest - lowest", "gaps", rates) +
                                                      foot_row("all of them", "together", rates)));
  const Html every = element("label", {{"class", "all"}},
                             Html("Threshold of all slices: ") +
                                 element("output", fixed(static_cast<double>(std::stol(at)) / 1000, 3)) +
                                 slider("threshold of all slices", at));
  const Html scrolled = element(
      "div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-labelledby", caption_id}},
      table);
  const Html save = element(
      "p", {{"class", "tools"}},
      element("button", {{"type", "button"}, {"class", "save"}, {"data-table", panel.id}}, "Save as CSV"));
  return element("div", {{"class", "thresholds scripted"}},
                 every + scrolled + save +
                     script_data(data_of(panel).dump(-1, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace espalier
