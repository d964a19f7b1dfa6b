// The place of a dataset's iterator as checkpoints keep it.
#pragma once

#include "espalier/dataset.h"
#include "format/checkpoint.h"

namespace espalier {

DataCursor cursor_of(const DatasetState& state);
// Raises FormatError[checkpoint.cursor] for what is no such place. One without those of steps and sources, or
// without its layout, as earlier versions saved it, is read as well.
DatasetState state_of(const DataCursor& cursor);

}  // namespace espalier
