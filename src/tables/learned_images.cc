#include "tables/learned_images.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "tables/provenance_text.h"

namespace espalier {
namespace {

// The places of those of images that the model was not trained on.
std::vector<int64_t> unlearned(const LoadedModel& model, const std::string& path,
                               const std::vector<uint64_t>& hashes) {
  const std::vector<uint64_t> learned =
      learned_hashes(model.has_file(kLearnedFile) ? model.file(kLearnedFile) : "", path, "model.images");
  std::vector<int64_t> out;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (!std::ranges::binary_search(learned, hashes[i])) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

void warn_of_learned(int64_t learned, int64_t images, const std::string& data, const Messages& messages) {
  const std::string which = learned < images ? cat(learned, " of the ", images, " images")
                            : images == 1    ? std::string("the one image")
                                             : cat("all ", images, " images");
  if (learned)
    messages.warn({cat("the model was trained on ", which, " of ", data, ": others may fare worse")});
}

}  // namespace

Examples images_to_evaluate(const LoadedModel& model, const std::string& path, const std::string& data,
                            const HashedExamples& images, bool all, const Messages& messages) {
  const std::vector<int64_t> rows = unlearned(model, path, images.hashes);
  const int64_t left = std::ssize(rows), learned = images.rows() - left;
  if (learned == 0 || all || left == 0) {
    warn_of_learned(learned, images.rows(), data, messages);
    return images;
  }
  messages.note(cat("the model was trained on ", learned, " of these images: only the other ",
                    left == 1 ? "one is evaluated" : cat(left, " are evaluated"), "; --all-rows takes all"));
  const Tensor places = Tensor::of(rows);
  return {take(images.x, places), take(images.y, places)};
}

void warn_of_learned_images(const LoadedModel& model, const std::string& path, const std::string& data,
                            const std::vector<uint64_t>& hashes, const Messages& messages) {
  const int64_t count = std::ssize(hashes);
  warn_of_learned(count - std::ssize(unlearned(model, path, hashes)), count, data, messages);
}

}  // namespace espalier
