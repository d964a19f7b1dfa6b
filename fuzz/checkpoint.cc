// Mutated checkpoints: refused with one of the errors of their reader, or ones that write and read back to
// themselves. Half of the inputs get a checksum that fits, so that what lies behind it is reached.
#include "format/checkpoint.h"

#include "base/format.h"
#include "espalier/error.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

// Raises what parse_checkpoint does.
Checkpoint parse_rechecked(const std::string& bytes) {
  try {
    return parse_checkpoint(bytes);
  } catch (const FormatError& error) {
    if (error.rule() != "checkpoint.checksum") throw;
    SafeTensors file = parse_safetensors(std::as_bytes(std::span(bytes)));
    file.metadata["crc32"] = checkpoint_checksum(file);
    return parse_checkpoint(safetensors_bytes(file));
  }
}

bool accept(const std::string& bytes) {
  std::string once;
  try {
    once = checkpoint_bytes(parse_rechecked(bytes));
  } catch (const FormatError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  }
  if (checkpoint_bytes(parse_checkpoint(once)) != once)
    throw InternalError("written and read it is another checkpoint");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  Checkpoint checkpoint;
  seeds.push_back(checkpoint_bytes(checkpoint));
  checkpoint = {.seed = 7, .epoch = 2, .step = 20, .stopped = true};
  checkpoint.run = {{"batch_size", "32"}};
  checkpoint.cursor = {{"elements", 3}};
  checkpoint.history = {{"loss", {1, 0.5}}, {"val_loss", {2, 1}}};
  checkpoint.callbacks.resize(2);
  checkpoint.callbacks[1]["wait"] = Literal::splat({DType::kF64, {}}, 1.0);
  for (const DType dtype : {DType::kBool, DType::kF32, DType::kI64})
    checkpoint.variables.push_back({cat("model/", name(dtype)), Literal::splat({dtype, {2, 3}}, 1.0)});
  seeds.push_back(checkpoint_bytes(checkpoint));
  return fuzz::run(argc, argv, "fuzz_checkpoint", seeds,
                   {"\"callbacks\":\"4096\"", "callbacks/1/", "callbacks//", "history/", "variables/", "run/",
                    "cursor/", "\"epoch\":\"2147483647\"", "\"seed\":\"18446744073709551615\"", "-1",
                    "\"F64\"", "[281474976710656]", "{}", "}"},
                   accept);
}
