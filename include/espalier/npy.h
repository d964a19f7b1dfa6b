// NumPy's files: .npy, one array, and .npz, arrays by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "espalier/tensor.h"

namespace espalier {

// Versions 1 to 3, little-endian, bool, 8 to 64 bit integers, f16, f32, f64; column-major arrays are
// transposed. Raises IoError, or FormatError[npy.*] that names the file; safe on any bytes.
Tensor load_npy(const std::string& path, Location at = Location::here());
// bf16 is written as f32, which holds its values exactly. Raises IoError, StateError under trace. The file is
// replaced in one step.
void save_npy(const std::string& path, const Tensor& tensor, Location at = Location::here());

struct LoadNpzOptions {
  // How many bytes the unpacked arrays may take together. The default is 32 MiB and 8 times the file's size:
  // a few bytes can unpack to a thousand times as many.
  std::optional<uint64_t> limit = {};
};
// The arrays of numpy.savez and numpy.savez_compressed by name. Raises IoError, or FormatError that names the
// file and the entry: zip.archive (no zip archive, damaged, cut off), zip.names (a name twice),
// zip.encrypted, zip.method (neither stored nor deflated), zip.size (more than `limit`, or other than
// declared), zip.checksum, npz.entry (not named *.npy), npy.* of an array. Safe on any bytes.
std::map<std::string, Tensor> load_npz(const std::string& path, const LoadNpzOptions& options = {},
                                       Location at = Location::here());

struct SaveNpzOptions {
  bool compressed = false;
};
// Writes what numpy.load reads, in the order of the names; equal tensors give equal bytes. Raises IoError,
// StateError under trace, ValueError[zip.name] for a name that is empty, no UTF-8, or longer than 65,531
// bytes. The file is replaced in one step.
void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
              const SaveNpzOptions& options = {}, Location at = Location::here());

}  // namespace espalier
