#include "format/npz.h"

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "espalier/npy.h"
#include "format/npy.h"
#include "format/zip.h"
#include "ir/sink.h"

namespace espalier {
namespace {

constexpr std::string_view kEnding = ".npy";

const Literal& literal_of(const Tensor& tensor) {
  tensor.bytes();  // refuses what has none
  return tensor.node()->dense();
}

}  // namespace

std::map<std::string, Literal> parse_npz(std::span<const std::byte> bytes, std::optional<uint64_t> limit) {
  std::map<std::string, Literal> out;
  read_zip(bytes, limit.value_or((uint64_t{32} << 20) + 8 * bytes.size()),
           [&](const std::string& entry, std::string contents) {
             if (!entry.ends_with(kEnding))
               throw FormatError("npz.entry", cat("entry \"", shortened(entry), "\" is no .npy file"));
             const std::string name = entry.substr(0, entry.size() - kEnding.size());
             try {
               out.emplace(name, parse_npy(std::as_bytes(std::span(contents))));
             } catch (const FormatError& error) {
               throw FormatError(error.rule(), cat("array \"", shortened(name), "\": ", error.message()));
             }
           });
  return out;
}

std::string npz_bytes(const std::map<std::string, Literal>& arrays, bool compressed) {
  ZipWriter zip;
  for (const auto& [name, array] : arrays) zip.add(cat(name, kEnding), npy_bytes(array), compressed);
  return zip.finish();
}

Tensor load_npy(const std::string& path, Location at) {
  const CallScope scope(at);
  return make_concrete(read_npy(path));
}

void save_npy(const std::string& path, const Tensor& tensor, Location at) {
  const CallScope scope(at);
  write_npy(path, literal_of(tensor));
}

std::map<std::string, Tensor> load_npz(const std::string& path, const LoadNpzOptions& options, Location at) {
  const CallScope scope(at);
  const std::string bytes = posix_env().read_file(path);
  std::map<std::string, Tensor> out;
  try {
    for (auto& [name, array] : parse_npz(std::as_bytes(std::span(bytes)), options.limit))
      out.emplace(name, make_concrete(array));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
  return out;
}

void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
              const SaveNpzOptions& options, Location at) {
  const CallScope scope(at);
  std::map<std::string, Literal> arrays;
  for (const auto& [name, tensor] : tensors) arrays.emplace(name, literal_of(tensor));
  posix_env().write_file(path, npz_bytes(arrays, options.compressed));
}

}  // namespace espalier
