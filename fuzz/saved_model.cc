// Mutated descriptions and programs of saved models, of rows and of images: refused with an error, or a
// model.
#include "espalier/saved_model.h"

#include <unistd.h>

#include <map>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "espalier/functional.h"
#include "espalier/merging.h"
#include "espalier/pooling.h"
#include "espalier/random.h"
#include "espalier/regularizers.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

constexpr char kSeparator = '\x01';

constexpr const char* kTexts[] = {"model.json", "inference.mlir", "training.mlir", "notes.txt"};

std::string saved_file(Model& model, const TensorList& rows, const std::string& folder) {
  model.predict_all(rows);
  model.save(folder, {.files = {{"notes.txt", "of a fuzzer"}}});
  // Behind the checksums little would be reached.
  auto description = nlohmann::ordered_json::parse(posix_env().read_file(folder + "/model.json"));
  description.erase("crc32");
  posix_env().write_file(folder + "/model.json", description.dump(2));
  std::string out;
  for (const char* name : kTexts) out += posix_env().read_file(cat(folder, "/", name)) + kSeparator;
  return out;
}

// The texts, and the weights of the model that a seed is of: a letter behind the last of them.
std::map<std::string, std::string> files_of(const std::string& bytes,
                                            const std::map<char, std::string>& weights) {
  std::map<std::string, std::string> out;
  size_t at = 0;
  for (const char* name : kTexts) {
    const size_t end = std::min(bytes.find(kSeparator, at), bytes.size());
    out[name] = bytes.substr(at, end - at);
    at = std::min(end + 1, bytes.size());
  }
  const auto found = weights.find(at < bytes.size() ? bytes[at] : 'd');
  out["weights.safetensors"] = found == weights.end() ? "" : found->second;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = cat("/tmp/espalier-fuzz-", static_cast<int64_t>(::getpid()));
  Sequential dense{Dense({.units = 3, .activation = "relu"}), BatchNormalization()};
  Sequential images{Conv2D({.filters = 2}), MaxPooling2D(), Flatten(), Dense({.units = 2})};
  const Placeholder left = Input({3}, {.name = "left"}), right = Input({2}, {.name = "right"});
  const Placeholder both = connect(Concatenate(), {left, right});
  Dense kind({.units = 2, .kernel_regularizer = regularizers::L2(0.1), .name = "kind"});
  Dense size({.units = 1, .bias_regularizer = regularizers::L1(0.2), .name = "size"});
  Functional named({left, right}, {connect(kind, both), connect(size, both)});
  const std::vector<std::string> seeds = {
      saved_file(dense, Generator(1).normal({4, 2}), folder + "-d") + "d",
      saved_file(images, Generator(1).normal({3, 5, 5, 1}), folder + "-i") + "i",
      saved_file(named, {Generator(1).normal({4, 3}), Generator(2).normal({4, 2})}, folder + "-n") + "n"};
  std::map<char, std::string> weights;
  for (const char* kind : {"d", "i", "n"}) {
    const std::string saved = cat(folder, "-", kind);
    weights[kind[0]] = posix_env().read_file(saved + "/weights.safetensors");
    std::filesystem::remove_all(saved);
  }
  const auto accept = [&](const std::string& bytes) {
    try {
      read_model(files_of(bytes, weights));
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  return fuzz::run(
      argc, argv, "fuzz_saved_model", seeds,
      {"${B}", "${2*B+1}", "${-1*B}", "$$", "\"row\": [", "0", "-1", "[[[[", "{", "f64", "\"fixed_batch\": 1",
       "espalier.variable = ", "\"penalty\": ", "\"outputs\": [", "\"files\": [", "\"crc32\": {"},
      accept);
}
