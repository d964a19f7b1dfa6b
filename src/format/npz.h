// NumPy's .npz files: zip archives of .npy files.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "ir/literal.h"

namespace espalier {

// The arrays by name. Without a `limit` the arrays may take 32 MiB and 8 times the file's bytes together, so
// that memory stays within 64 MiB and 16 times them. Raises FormatError[zip.*], FormatError[npz.entry] for an
// entry that is no .npy, and parse_npy's with the name of the array.
std::map<std::string, Literal> parse_npz(std::span<const std::byte> bytes,
                                         std::optional<uint64_t> limit = {});
// The entries are "<name>.npy", deflated when `compressed`. Raises ValueError[zip.name].
std::string npz_bytes(const std::map<std::string, Literal>& arrays, bool compressed = false);

}  // namespace espalier
