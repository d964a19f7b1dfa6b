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
#include "train/dataset_cursor.h"

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

// A source whose place is a text, and one that goes through its elements.
struct ShortSource final : DataSource {
  explicit ShortSource(bool by_bytes) : by_bytes(by_bytes) {}
  std::optional<Tensors> next() override {
    return now < 5 ? std::optional(Tensors{Tensor::scalar(++now)}) : std::nullopt;
  }
  std::optional<std::string> save() override {
    return by_bytes ? std::optional(std::string(1, static_cast<char>('a' + now))) : std::nullopt;
  }
  void restore(std::string_view bytes) override {
    if (bytes.size() != 1 || bytes[0] < 'a' || bytes[0] > 'f') throw FormatError("short.place", "no place");
    now = bytes[0] - 'a';
  }
  int32_t now = 0;
  bool by_bytes;
};

Dataset short_dataset() {
  const auto open = [](DataShard shard, uint64_t) { return std::make_unique<ShortSource>(shard.index != 1); };
  const Dataset source = Dataset::from_source(open, {.shards = 3});
  const Dataset both = Dataset::zip({source, source.enumerate()});
  return both.concatenate(both.take(7)).repeat(4).batch(2).prefetch(1);
}

struct NoBatches final : TrainingBatches {
  std::span<const Tensor> next() override { return {}; }
  int64_t steps_per_epoch() const override { return 20; }
  int64_t examples_per_epoch() const override { return 0; }
  std::map<std::string, std::string> run() const override { return {{"batch_size", "32"}}; }
  void restore(int, int64_t, const Cursor& cursor) override {
    const DatasetState state = state_of(cursor);
    if (state_of(cursor_of(state)) != state) throw InternalError("a place is another one when read back");
    DatasetIterator iterator(short_dataset(), 0);
    iterator.restore(state);
    int64_t left = 0;
    while (iterator.next()) ++left;
    if (left > 44) throw InternalError("there are more elements than the dataset has");
  }
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
    Backups backups(options, NoBatches(), kRun, RunContext::current().pool);
    const FitPosition position = backups.position();
    if (position.step > kRun.steps_per_epoch || position.history.size() > static_cast<size_t>(position.epoch))
      throw InternalError("the run goes on where it cannot have been");
    if (position.cursor != DataCursor()) NoBatches().restore(position.epoch, position.step, position.cursor);
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
  checkpoint.cursor.numbers = {{"elements", 3}};
  checkpoint.history = {{"loss", {1, 0.5}}, {"val_loss", {2, 1}}};
  checkpoint.callbacks.resize(2);
  checkpoint.callbacks[1]["wait"] = Literal::splat({DType::kF64, {}}, 1.0);
  for (const DType dtype : {DType::kBool, DType::kF32, DType::kI64})
    checkpoint.variables.push_back({cat("model/", name(dtype)), Literal::splat({dtype, {2, 3}}, 1.0)});
  seeds.push_back(checkpoint_bytes(checkpoint));
  const std::string folder = cat("/tmp/espalier-fuzz-checkpoint-", static_cast<int64_t>(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/last";
  Backups(options_of(path), NoBatches(), kRun, RunContext::current().pool)
      .save({}, {.epoch = 1, .step = 20, .history = {{{"loss", 1}, {"val_loss", 2}}}});
  seeds.push_back(posix_env().read_file(path));
  if (!goes_on(path, seeds.back())) throw InternalError("what a run left is refused");
  for (const int64_t seen : {0, 3, 9, 17}) {
    DatasetIterator iterator(short_dataset(), 0);
    for (int64_t i = 0; i < seen; ++i) iterator.next();
    Backups(options_of(path), NoBatches(), kRun, RunContext::current().pool)
        .save({}, {.epoch = 1, .step = 20, .cursor = cursor_of(iterator.save())});
    seeds.push_back(posix_env().read_file(path));
    if (!goes_on(path, seeds.back())) throw InternalError("the place in a dataset is refused");
  }
  const int code = fuzz::run(
      argc, argv, "fuzz_checkpoint", seeds,
      {"\"callbacks\":\"4096\"", "callbacks/1/", "callbacks//", "history/", "variables/", "run/", "cursor/",
       "cursor/sources/0/shards/2", "cursor/steps/1", "cursor/elements", "\"epoch\":\"2147483647\"",
       "\"seed\":\"18446744073709551615\"", "-1", "\"F64\"", "[281474976710656]", "{}", "}"},
      [&](const std::string& bytes) { return accept(path, bytes); });
  std::filesystem::remove_all(folder);
  return code;
}
