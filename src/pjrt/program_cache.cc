#include "pjrt/program_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier::pjrt {
namespace {

constexpr std::string_view kMagic = "espalier program 01\n";
constexpr size_t kDigest = 64, kNumber = 8, kLabel = 128;
static_assert(kMagic.size() + 3 * kDigest + 2 * kNumber + 2 * kLabel == StoredProgram::kHeadBytes);
// No program's name.
constexpr const char* kPlugins = "plugins";

bool is_program(std::string_view name) {
  return name.size() == kDigest && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// Of a program, or of the digests of plugins.
bool is_left_over_here(const std::string& name) {
  return OwnFolder::is_left_over(name) &&
         (is_program(name.substr(0, std::min(kDigest, name.size()))) || name.starts_with(cat(kPlugins, ".")));
}

std::string bytes_of_number(uint64_t number) {
  std::string out;
  for (size_t i = 0; i < kNumber; ++i) out += static_cast<char>(number >> 8 * i);
  return out;
}
uint64_t number_of_bytes(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < kNumber; ++i) out |= uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  return out;
}

std::string label_field(std::string_view label) {
  std::string out(label.substr(0, kLabel));
  out.resize(kLabel, '\0');
  return out;
}

int64_t now_in_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// By which a file is the one it was. The time of change cannot be set back, as that of writing can.
std::string stamp_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    throw IoError("file.read", cat("cannot read ", path, ": ", std::strerror(errno)));
  return cat(status.st_dev, " ", status.st_ino, " ", status.st_size, " ", status.st_mtim.tv_sec, ".",
             status.st_mtim.tv_nsec, " ", status.st_ctim.tv_sec, ".", status.st_ctim.tv_nsec);
}

// Lines of a stamp and a digest, and behind them their own digest. Nothing of a file that is otherwise.
using PluginLines = std::vector<std::pair<std::string, std::string>>;
PluginLines plugin_lines(const OwnFolder& folder) {
  constexpr uint64_t kMost = 1 << 16;
  PluginLines out;
  const std::optional<OwnFile> file = folder.open(kPlugins);
  if (!file || file->size() > kMost || file->size() < kDigest) return out;
  const std::string text = file->read(0, file->size());
  if (text.size() < kDigest) return out;
  const std::string_view lines = std::string_view(text).substr(0, text.size() - kDigest);
  if (sha256_of(lines) != text.substr(lines.size())) return out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    const size_t blank = line.rfind(' ');
    if (blank == line.npos || !is_program(line.substr(blank + 1))) return {};
    out.emplace_back(line.substr(0, blank), line.substr(blank + 1));
    at = end + 1;
  }
  return out;
}

void remember_plugin(const OwnFolder& folder, const std::string& stamp, const std::string& digest) {
  constexpr size_t kMostPlugins = 32;
  PluginLines lines = plugin_lines(folder);
  lines.insert(lines.begin(), {stamp, digest});
  if (lines.size() > kMostPlugins) lines.resize(kMostPlugins);
  std::string text;
  for (const auto& [of, is] : lines) text += cat(of, " ", is, "\n");
  const std::string sum = sha256_of(text);
  folder.write(kPlugins, std::array<std::string_view, 2>{text, sum});
}

std::optional<StoredProgram> head_in(const OwnFile& file) {
  std::optional<StoredProgram> out = read_head(file.read(0, StoredProgram::kHeadBytes));
  if (!out || out->name != file.name() || out->bytes != file.size() - StoredProgram::kHeadBytes)
    return std::nullopt;
  return out;
}

}  // namespace

std::string head_of(const StoredProgram& stored) {
  const std::string rest = cat(stored.name, stored.digest, bytes_of_number(stored.bytes),
                               bytes_of_number(std::bit_cast<uint64_t>(stored.compile_seconds)),
                               label_field(stored.program), label_field(stored.device));
  return cat(kMagic, sha256_of(rest), rest);
}

std::optional<StoredProgram> read_head(std::string_view head) {
  if (head.size() != StoredProgram::kHeadBytes || !head.starts_with(kMagic)) return std::nullopt;
  head.remove_prefix(kMagic.size());
  if (sha256_of(head.substr(kDigest)) != head.substr(0, kDigest)) return std::nullopt;
  head.remove_prefix(kDigest);
  const auto take = [&](size_t size) {
    const std::string_view out = head.substr(0, size);
    head.remove_prefix(size);
    return out;
  };
  const auto label = [&] {
    const std::string_view field = take(kLabel);
    return std::string(field.substr(0, field.find('\0')));
  };
  StoredProgram out;
  out.name = take(kDigest);
  out.digest = take(kDigest);
  out.bytes = number_of_bytes(take(kNumber));
  out.compile_seconds = std::bit_cast<double>(number_of_bytes(take(kNumber)));
  out.program = label();
  out.device = label();
  return out;
}

ProgramCache ProgramCache::of_user() {
  const auto variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const auto unusable = [](std::string why) { return ProgramCache("", kCap, "", std::move(why)); };
  std::string above;
  if (const auto named = variable("ESPALIER_CACHE")) {
    if (named->empty() || *named == "off") return unusable("ESPALIER_CACHE turns it off");
    above = *named;
  } else if (const auto caches = variable("XDG_CACHE_HOME"); caches && caches->starts_with('/')) {
    above = *caches + "/espalier";  // a relative one is to be ignored
  } else if (const auto home = variable("HOME"); home && home->starts_with('/')) {
    above = *home + "/.cache/espalier";
  } else {
    return unusable("neither ESPALIER_CACHE nor XDG_CACHE_HOME nor HOME names a folder");
  }
  int64_t cap = kCap;
  if (const auto bytes = variable("ESPALIER_CACHE_BYTES"); bytes && !bytes->empty()) {
    const char* end = bytes->data() + bytes->size();
    const auto [stop, error] = std::from_chars(bytes->data(), end, cap);
    if (error != std::errc() || stop != end || cap < 0)
      return unusable(
          cat("ESPALIER_CACHE_BYTES must be a whole number from 0 on, and is ", shortened(*bytes)));
  }
  while (above.size() > 1 && above.ends_with('/')) above.pop_back();
  return ProgramCache(above + "/programs", cap, above, "");
}

OwnFolder ProgramCache::open(bool make) const {
  if (!above_.empty()) {
    OwnFolder above(above_, make);
    if (!above) return above;
  }
  return OwnFolder(folder_, make);
}

std::string ProgramCache::why_not() const { return disabled_.empty() ? open(false).why_not() : disabled_; }

std::string ProgramCache::why_not_kept() const {
  const std::string why = why_not();
  return why.empty() ? OwnFolder::why_not_written(folder_) : why;
}

std::optional<std::string> ProgramCache::find(const ProgramKey& key) const noexcept try {
  if (!disabled_.empty()) return std::nullopt;
  const OwnFolder folder = open(false);
  if (!folder) return std::nullopt;
  const std::optional<OwnFile> file = folder.open(key.name());
  if (!file) return std::nullopt;
  if (const std::optional<StoredProgram> head = head_in(*file)) {
    std::string bytes = file->read(StoredProgram::kHeadBytes, head->bytes);
    if (bytes.size() == head->bytes && sha256_of(bytes) == head->digest) {
      file->touch();
      return bytes;
    }
  }
  folder.remove(*file);
  return std::nullopt;
} catch (const std::exception&) {
  return std::nullopt;
}

bool ProgramCache::put(const ProgramKey& key, std::string_view bytes, double compile_seconds) const noexcept
    try {
  const auto size = static_cast<int64_t>(StoredProgram::kHeadBytes + bytes.size());
  if (!disabled_.empty() || size > cap_) return false;
  const OwnFolder folder = open(true);
  if (!folder) return false;
  const StoredProgram stored{.name = key.name(),
                             .digest = sha256_of(bytes),
                             .bytes = bytes.size(),
                             .compile_seconds = compile_seconds,
                             .program = key.program(),
                             .device = key.device_kind.empty() ? key.platform : key.device_kind};
  make_room(folder, stored.name, size);
  const std::string head = head_of(stored);
  return folder.write(stored.name, std::array<std::string_view, 2>{head, bytes});
} catch (const std::exception&) {
  return false;
}

// For so many bytes under this name; what killed processes left goes, too.
void ProgramCache::make_room(const OwnFolder& folder, const std::string& name, int64_t bytes) const {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;
  struct Kept {
    int64_t used, bytes;
    std::string name;
  };
  std::vector<Kept> kept;
  int64_t total = bytes;
  for (const std::string& other : folder.names()) {
    if (other == name) continue;
    const bool left_over = is_left_over_here(other);
    if (!left_over && !is_program(other)) continue;
    const std::optional<OwnFile> file = folder.open(other);
    if (!file) continue;
    if (left_over) {
      if (now_in_nanoseconds() - file->written() > kHour) folder.remove(*file);
      continue;
    }
    kept.push_back({file->written(), static_cast<int64_t>(file->size()), other});
    total += kept.back().bytes;
  }
  std::ranges::sort(kept, {}, &Kept::used);
  for (const Kept& oldest : kept) {
    if (total <= cap_) break;
    folder.remove(oldest.name);
    total -= oldest.bytes;
  }
}

std::string ProgramCache::content_of_plugin(const std::string& path) {
  const std::string stamp = stamp_of(path);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string& digest = plugins_[stamp];
  if (!digest.empty()) return digest;
  if (disabled_.empty()) {
    if (const OwnFolder folder = open(false)) {
      for (const auto& [of, is] : plugin_lines(folder)) {
        if (of == stamp) return digest = is;
      }
    }
  }
  const std::string computed = digest_file(path).sha256;
  // Of a file that changes meanwhile it is nobody's.
  if (stamp_of(path) != stamp) return computed;
  digest = computed;
  if (disabled_.empty()) {
    if (const OwnFolder folder = open(true)) remember_plugin(folder, stamp, digest);
  }
  return digest;
}

std::vector<ProgramCache::Entry> ProgramCache::entries() const {
  std::vector<Entry> out;
  if (!disabled_.empty()) return out;
  const OwnFolder folder = open(false);
  if (!folder) return out;
  for (const std::string& name : folder.names()) {
    if (!is_program(name)) continue;
    const std::optional<OwnFile> file = folder.open(name);
    if (!file) continue;
    const std::optional<StoredProgram> head = head_in(*file);
    if (!head) continue;
    out.push_back({.name = name,
                   .program = head->program,
                   .device = head->device,
                   .bytes = static_cast<int64_t>(file->size()),
                   .compile_seconds = head->compile_seconds,
                   .used = file->written()});
  }
  std::ranges::sort(out, std::greater(), &Entry::used);
  return out;
}

ProgramCache::Cleared ProgramCache::clear() const {
  Cleared out;
  if (!disabled_.empty()) return out;
  const OwnFolder folder = open(false);
  if (!folder) return out;
  for (const std::string& name : folder.names()) {
    const std::optional<OwnFile> file = folder.open(name);
    const auto bytes = file ? static_cast<int64_t>(file->size()) : 0;
    if (is_program(name)) {
      if (!folder.remove(name)) continue;
      ++out.programs;
      out.bytes += bytes;
    } else if (name == kPlugins || is_left_over_here(name)) {
      folder.remove(name);
    }
  }
  return out;
}

}  // namespace espalier::pjrt
