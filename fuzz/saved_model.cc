// Mutated descriptions and programs of saved models: refused with an error, or a model.
#include "espalier/saved_model.h"

#include <unistd.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/random.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

constexpr char kSeparator = '\x01';

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = cat("/tmp/espalier-fuzz-", static_cast<int64_t>(::getpid()));
  Sequential model{Dense({.units = 3, .activation = "relu"}), BatchNormalization()};
  model.predict(Generator(1).normal({4, 2}));
  model.save(folder);
  const std::string weights = posix_env().read_file(folder + "/weights.safetensors");
  const std::string training = posix_env().read_file(folder + "/training.mlir");
  const std::string seed = posix_env().read_file(folder + "/model.json") + kSeparator +
                           posix_env().read_file(folder + "/inference.mlir");
  const auto accept = [&](const std::string& bytes) {
    const size_t middle = std::min(bytes.find(kSeparator), bytes.size());
    try {
      read_model({{"model.json", bytes.substr(0, middle)},
                  {"inference.mlir", bytes.substr(std::min(middle + 1, bytes.size()))},
                  {"training.mlir", training},
                  {"weights.safetensors", weights}});
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  const int code = fuzz::run(argc, argv, "fuzz_saved_model", {seed},
                             {"${B}", "${2*B+1}", "${-1*B}", "$$", "\"row\": [", "0", "-1", "[[[[", "{",
                              "f64", "\"fixed_batch\": 1", "espalier.variable = "},
                             accept);
  std::filesystem::remove_all(folder);
  return code;
}
