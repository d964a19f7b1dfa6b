// Which images a model learned from, told by their pixels: wherever they lie and whatever they are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/common.h"
#include "data/hashed_examples.h"
#include "espalier/saved_model.h"

namespace espalier::cli {

// Of `images`, which are those of `data` as the model saved at `path` takes them, the ones that may judge it:
// those that it has not learned from, or all of them where `all` is told or none is left. A line on standard
// error says so where it learned from some. Raises FormatError[model.images].
Examples judging_images(const LoadedModel& model, const std::string& path, const std::string& data,
                        const HashedExamples& images, bool all, const Results& results);
// Warns of as many of these images as the model learned from. Raises FormatError[model.images].
void warn_of_learned_images(const LoadedModel& model, const std::string& path, const std::string& data,
                            const std::vector<uint64_t>& hashes, const Results& results);

}  // namespace espalier::cli
