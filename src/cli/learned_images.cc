#include "cli/learned_images.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/format.h"
#include "cli/train_images.h"
#include "espalier/error.h"
#include "espalier/ops.h"

namespace espalier::cli {
namespace {

constexpr size_t kHashDigits = 16;

// The places of those of images that the model has not learned from.
std::vector<int64_t> unlearned(const LoadedModel& model, const std::string& path,
                               const std::vector<uint64_t>& hashes) {
  std::vector<uint64_t> learned;
  if (model.has_file(kLearnedFile)) learned = learned_hashes(model.file(kLearnedFile), path);
  std::vector<int64_t> out;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (!std::ranges::binary_search(learned, hashes[i])) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

void warn_of_learned(int64_t learned, int64_t images, const std::string& data, const Results& results) {
  const std::string which = learned < images ? cat(learned, " of the ", images, " images")
                            : images == 1    ? std::string("the one image")
                                             : cat("all ", images, " images");
  if (learned) results.warn({cat("the model learned from ", which, " of ", data, ": others may fare worse")});
}

}  // namespace

std::string learned_text(std::vector<uint64_t> hashes) {
  std::ranges::sort(hashes);
  std::string out;
  out.reserve(hashes.size() * kHashDigits);
  for (const uint64_t hash : hashes) {
    char digits[kHashDigits + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    out += digits;
  }
  return out;
}

std::vector<uint64_t> learned_hashes(const std::string& text, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw FormatError(
        "model.images",
        cat(path, "/", kLearnedFile, " does not say which images the model learned from: ", why),
        "train the model again");
  };
  if (text.size() % kHashDigits != 0)
    refuse(cat("its ", text.size(), " bytes are no hashes of ", kHashDigits, " digits each"));
  std::vector<uint64_t> out;
  out.reserve(text.size() / kHashDigits);
  for (size_t at = 0; at < text.size(); at += kHashDigits) {
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + kHashDigits, out.emplace_back(), 16);
    if (error != std::errc() || end != begin + kHashDigits)
      refuse(cat("the ", kHashDigits, " bytes from byte ", at, " on are no hexadecimal digits"));
  }
  std::ranges::sort(out);
  return out;
}

Examples judging_images(const LoadedModel& model, const std::string& path, const std::string& data,
                        const HashedExamples& images, bool all, const Results& results) {
  const std::vector<int64_t> rows = unlearned(model, path, images.hashes);
  const int64_t left = std::ssize(rows), learned = images.rows() - left;
  if (learned == 0 || all || left == 0) {
    warn_of_learned(learned, images.rows(), data, results);
    return images;
  }
  std::fputs(cat("note: the model learned from ", learned, " of these images: the other ",
                 left == 1 ? "one judges" : cat(left, " judge"), "; --all-rows takes all\n")
                 .c_str(),
             stderr);
  const Tensor places = Tensor::of(rows);
  return {take(images.x, places), take(images.y, places)};
}

void warn_of_learned_images(const LoadedModel& model, const std::string& path, const std::string& data,
                            const std::vector<uint64_t>& hashes, const Results& results) {
  const int64_t count = std::ssize(hashes);
  warn_of_learned(count - std::ssize(unlearned(model, path, hashes)), count, data, results);
}

}  // namespace espalier::cli
