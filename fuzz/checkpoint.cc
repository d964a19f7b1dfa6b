// Mutated checkpoints: refused with one of the errors of their reader, or ones that write and read back to
// themselves and that a run goes on with or refuses. Those whose checksum does not fit get one that does, so
// that what lies behind it is reached.
#include "format/checkpoint.h"

#include "base/env.h"
#include "base/format.h"
#include "espalier/callbacks.h"
#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "train/backup.h"

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

struct NoBatches final : TrainingBatches {
  std::span<const Tensor> next() override { return {}; }
  int64_t steps_per_epoch() const override { return 20; }
  int64_t examples_per_epoch() const override { return 0; }
  std::map<std::string, std::string> run() const override { return {{"batch_size", "32"}}; }
  void restore(int, int64_t, const Cursor&) override {}
};

FitOptions options_of(const std::string& path) {
  return {.callbacks = {BackupAndRestore({.path = path, .delete_checkpoint = false}), ReduceLROnPlateau({}),
                        ModelCheckpoint({.path = path + "-model", .save_freq = 1})}};
}
const Callback::Run kRun{.epochs = 3, .steps_per_epoch = 20, .logs = {"loss", "val_loss"}};

// The run that left these bytes goes on, or says why not.
bool goes_on(const std::string& path, const std::string& bytes) {
  posix_env().write_file(path, bytes);
  const FitOptions options = options_of(path);
  try {
    Backups backups(options, NoBatches(), kRun);
    const FitPosition position = backups.position();
    if (position.step > kRun.steps_per_epoch || position.history.size() > static_cast<size_t>(position.epoch))
      throw InternalError("the run goes on where it cannot have been");
    backups.restore({});
  } catch (const FormatError&) {
    return false;
  } catch (const ValueError&) {
    return false;
  }
  return true;
}

bool accept(const std::string& path, const std::string& bytes) {
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
  goes_on(path, once);
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
  const std::string folder = cat("/tmp/espalier-fuzz-checkpoint-", static_cast<int64_t>(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/last";
  Backups(options_of(path), NoBatches(), kRun)
      .save({}, {.epoch = 1, .step = 20, .history = {{{"loss", 1}, {"val_loss", 2}}}});
  seeds.push_back(posix_env().read_file(path));
  if (!goes_on(path, seeds.back())) throw InternalError("what a run left is refused");
  const int code =
      fuzz::run(argc, argv, "fuzz_checkpoint", seeds,
                {"\"callbacks\":\"4096\"", "callbacks/1/", "callbacks//", "history/", "variables/", "run/",
                 "cursor/", "\"epoch\":\"2147483647\"", "\"seed\":\"18446744073709551615\"", "-1", "\"F64\"",
                 "[281474976710656]", "{}", "}"},
                [&](const std::string& bytes) { return accept(path, bytes); });
  std::filesystem::remove_all(folder);
  return code;
}
