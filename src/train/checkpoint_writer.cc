#include "train/checkpoint_writer.h"

#include <iterator>
#include <memory>
#include <system_error>

#include "base/env.h"
#include "base/format.h"
#include "base/thread_stacks.h"

namespace espalier {

Checkpoint checkpoint_in(std::string_view bytes, const std::string& path) {
  try {
    return parse_checkpoint(bytes);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(error.rule(), cat(path, ": ", error.message()));
  }
}

Checkpoint read_checkpoint(const std::string& path) {
  return checkpoint_in(posix_env().read_file(path), path);
}

void CheckpointWriter::finish() {
  if (writing_.valid()) writing_.get();
}

void CheckpointWriter::write(std::string path, Checkpoint checkpoint, const NamedVariables& variables,
                             std::function<void()> then) {
  finish();
  std::vector<NamedArray> copies = copies_.of(variables);
  checkpoint.variables.insert(checkpoint.variables.begin(), std::make_move_iterator(copies.begin()),
                              std::make_move_iterator(copies.end()));
  const auto write = [path = std::move(path), then = std::move(then),
                      kept = std::make_shared<const Checkpoint>(std::move(checkpoint))] {
    write_checkpoint(path, *kept);
    if (then) then();
  };
  const ThreadStacks stacks;
  try {
    writing_ = std::async(std::launch::async, write);
  } catch (const std::system_error&) {
    write();  // the system gives no thread
  }
}

}  // namespace espalier
