// How a flag says that a column is parted.
#pragma once

#include <string>

#include "evaluate/slice_columns.h"

namespace espalier::cli {

// "18,25,45", "monk" for ten tones, "monk3" for their three groups. Raises ValueError[evaluate.bucket], which
// begins with `of`.
Buckets read_buckets(const std::string& text, const std::string& of);

}  // namespace espalier::cli
