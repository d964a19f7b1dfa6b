// Checkpoints: one file that holds where a run of training is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/safetensors.h"

namespace espalier {

// Where data are, by names: numbers and bytes.
struct DataCursor {
  std::map<std::string, uint64_t> numbers = {};
  std::map<std::string, std::string> bytes = {};
  bool operator==(const DataCursor&) const = default;
};

struct Checkpoint {
  uint64_t seed = 0;
  int64_t epoch = 0;                                           // that runs, from 0
  int64_t step = 0;                                            // steps of it that are done
  bool stopped = false;                                        // no epoch follows
  std::map<std::string, std::string> run = {};                 // what must be the same to go on
  DataCursor cursor = {};                                      // where its data are, if they say so
  std::map<std::string, std::vector<double>> history = {};     // of each epoch that has ended
  std::vector<std::map<std::string, Literal>> callbacks = {};  // what each of them keeps
  std::vector<NamedArray> variables = {};
};

// A safetensors file whose metadata has a checksum over all that it holds.
std::string checkpoint_bytes(const Checkpoint& checkpoint);
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// What its metadata "crc32" says: zlib's CRC-32 of the names and texts of all other metadata, then of the
// names, types and elements of the arrays, each behind its length as u64.
std::string checkpoint_checksum(const SafeTensors& file);
// Raises FormatError[safetensors.*] and [checkpoint.*] for other bytes, those of a checkpoint that were
// changed included, UnsupportedError[checkpoint.version] for those of a later version; memory stays within a
// few times the bytes' size.
Checkpoint parse_checkpoint(std::string_view bytes);

}  // namespace espalier
