// From which probability on a row is said to be of one of two classes.
//
//     const auto decision = Decision::from_json(model.file("decision.json"), columns.classes());
//     const std::vector<int64_t> said = decision(softmax(outputs, 1).to_vector<float>(),
//     columns.classes().size());
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

struct Decision {
  // Of two classes the number of the positive one, which `threshold` is about; none where nothing says it.
  std::optional<int64_t> positive = {};
  // In [0, 1]. None: a row is of the likelier class.
  std::optional<double> threshold = {};
  // Why training chose `positive`: "flag", "schema", "pair" (as yes and no) or "rarer"; "" where it is not
  // said.
  std::string because = {};

  // The class of each row by probabilities [rows, classes]: the first of the likeliest, or, with a threshold,
  // `positive` where its probability is at least that and else the other. Raises ValueError[decision.classes]
  // unless the probabilities are whole rows, and with a threshold of two classes one of which is positive.
  std::vector<int64_t> operator()(std::span<const float> probabilities, size_t classes,
                                  Location at = Location::here()) const;

  // decision.json, a file of the models of `espalier train`: {"positive": "yes", "because":
  // "pair", "threshold": 0.3}, of two classes none of which is positive {"positive": null}, and {} for other
  // than two classes. Reading raises FormatError[model.decision] for text that says nothing of these classes.
  std::string to_json(std::span<const std::string> classes) const;
  static Decision from_json(std::string_view text, std::span<const std::string> classes,
                            Location at = Location::here());
};

}  // namespace espalier
