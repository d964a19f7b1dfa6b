// What a CheckpointManager tracks, as a checkpoint holds it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "espalier/checkpoint.h"
#include "format/checkpoint.h"
#include "train/checkpoint_writer.h"

namespace espalier {

class TrackedThings {
 public:
  // Raises ValueError[checkpoint.name].
  explicit TrackedThings(std::vector<Tracked> things);

  // Variables, and numbers as variables, of this moment. Raises ValueError[checkpoint.untracked].
  NamedVariables variables() const;
  // Where datasets are. Of several workers all call it alike.
  DataCursor places() const;
  // Values of variables that are not made yet.
  std::vector<NamedArray> waiting() const;
  // All or nothing: see CheckpointManager::restore. `path` is what errors call it.
  void restore(Checkpoint checkpoint, const std::string& path);

 private:
  struct Values;
  class First;
  // By the state of a variable, its name; of all but optimizers.
  class Owners;

  void restore_places(const DataCursor& cursor, const std::string& path);
  void begin_later(const std::shared_ptr<Values>& values) const;

  std::vector<Tracked> things_;
  std::shared_ptr<Values> waiting_;
};

}  // namespace espalier
