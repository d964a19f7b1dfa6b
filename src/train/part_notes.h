// What is to be said of a model whose rows interact, where each replica or shard sees a part of a batch.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "eager/batch_place.h"
#include "espalier/losses.h"

namespace espalier {

class PartNotes {
 public:
  // `part`: "replica", "logical shard".
  void add(const BatchPlaceScope::Met& met, const std::string& part);
  // The same of a loss, for labels and outputs of these types; tried once for each loss.
  void add(const Loss& loss, const TensorType& labels, const TensorType& outputs, const std::string& part);
  bool untold() const { return !due_.empty(); }
  // Sentences, each once.
  std::vector<std::string> tell();

 private:
  void say(const std::string& note);
  std::set<std::string> known_, due_;
  std::set<std::string> losses_;  // that were tried
};

// Whether the loss of a row depends on the rows beside it, as under negatives of the batch: found out by four
// made rows. False where it takes none of those.
bool loss_rows_interact(const Loss& loss, const TensorType& labels, const TensorType& outputs);

}  // namespace espalier
