#include "espalier/decision.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"

namespace espalier {

std::vector<int64_t> Decision::operator()(std::span<const float> probabilities, size_t classes,
                                          Location at) const {
  const CallScope scope(at);
  if (classes == 0 || probabilities.size() % classes != 0 || (threshold && (classes != 2 || !positive))) {
    throw ValueError("decision.classes",
                     cat(probabilities.size(), " probabilities of ", classes, " classes",
                         threshold ? ", where a threshold is for two, one of which is positive" : ""));
  }
  std::vector<int64_t> out;
  for (auto row = probabilities.begin(); row != probabilities.end();
       row += static_cast<std::ptrdiff_t>(classes)) {
    if (threshold)
      out.push_back(static_cast<double>(row[*positive]) >= *threshold ? *positive : 1 - *positive);
    else
      out.push_back(std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row);
  }
  return out;
}

std::string Decision::to_json(std::span<const std::string> classes) const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (classes.size() == 2) {
    json["positive"] = nullptr;
    if (positive) json["positive"] = classes[static_cast<size_t>(*positive)];
  }
  if (!because.empty()) json["because"] = because;
  if (threshold) json["threshold"] = *threshold;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Decision Decision::from_json(std::string_view text, std::span<const std::string> classes, Location at) {
  const CallScope scope(at);
  Decision out;
  const auto fail = [](std::string_view problem) { throw FormatError("model.decision", problem); };
  const nlohmann::ordered_json json = parse_json(text);
  if (classes.size() != 2) return out;
  try {
    if (const auto& positive = json.at("positive"); !positive.is_null()) {
      const std::string name = positive;
      out.positive = std::ranges::find(classes, name) - classes.begin();
      if (out.positive == 2) fail(cat("positive is no class: \"", name, "\""));
    }
    if (json.contains("because")) out.because = json["because"].get<std::string>();
    if (json.contains("threshold")) out.threshold = json["threshold"].get<double>();
    if (out.threshold && !(*out.threshold >= 0 && *out.threshold <= 1)) fail("threshold is not from 0 to 1");
    if (out.threshold && !out.positive) fail("threshold is of no class: positive is null");
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  }
  return out;
}

}  // namespace espalier
