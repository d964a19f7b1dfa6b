// Which images a model was trained on, told by their pixels: wherever they lie and whatever they are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/messages.h"
#include "data/hashed_examples.h"
#include "espalier/saved_model.h"

namespace espalier {

// Of `images`, which are those of `data` as the model saved at `path` takes them, those to evaluate it on:
// the ones that it was not trained on, or all of them where `all` is told or none is left. A line on standard
// error says so where it was trained on some. Raises FormatError[model.images].
Examples images_to_evaluate(const LoadedModel& model, const std::string& path, const std::string& data,
                            const HashedExamples& images, bool all, const Messages& messages);
// Warns of as many of these images as the model was trained on. Raises FormatError[model.images].
void warn_of_learned_images(const LoadedModel& model, const std::string& path, const std::string& data,
                            const std::vector<uint64_t>& hashes, const Messages& messages);

}  // namespace espalier
