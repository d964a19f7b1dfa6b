#include "data/dataset_cursor.h"

namespace espalier {
namespace {

[[noreturn]] void refuse_cursor(const std::string& why) {
  throw ValueError("dataset.restore", cat("the state is not of this dataset: ", why));
}

}  // namespace

int64_t CursorReader::number(const char* step, int64_t least, int64_t most) {
  if (steps_ == state_.steps.size())
    refuse_cursor(cat("it has ", Counted(steps_, "number"), " for steps, and none for ", step));
  const int64_t value = state_.steps[steps_++];
  if (value < least || value > most) {
    refuse_cursor(
        cat("number ", steps_ - 1, ", of ", step, ", must be from ", least, " to ", most, ", it is ", value));
  }
  return value;
}

const SourceState& CursorReader::source() {
  if (sources_ == state_.sources.size())
    refuse_cursor(cat("it has the places of ", Counted(sources_, "source"), ", the dataset has more"));
  return state_.sources[sources_++];
}

void CursorReader::end() const {
  if (steps_ == state_.steps.size() && sources_ == state_.sources.size()) return;
  refuse_cursor(cat("it has ", Counted(state_.steps.size(), "number"), " for steps and the places of ",
                    Counted(state_.sources.size(), "source"), ", the dataset takes ", steps_, " and ",
                    sources_));
}

void require_restored(const char* step, int64_t wanted, int64_t there) {
  if (there == wanted) return;
  throw ValueError("dataset.restore",
                   cat("the state is behind ", wanted, " elements of ", step, ", which gives ", there));
}

}  // namespace espalier
