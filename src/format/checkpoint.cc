#include "format/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "base/checksum.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr const char* kFormat = "espalier.checkpoint";
// 2 for a cursor with bytes: a program that knew 1 cannot go on with it.
constexpr int64_t kVersion = 2, kVersionWithoutBytes = 1;
constexpr const char* kChecksum = "crc32";
constexpr const char* kRun = "run/";
constexpr const char* kCursor = "cursor/";
constexpr const char* kHistory = "history/";
constexpr const char* kCallbacks = "callbacks/";
constexpr const char* kVariables = "variables/";
constexpr int64_t kMostCallbacks = 4096;

[[noreturn]] void fail(const char* rule, std::string_view message) {
  throw FormatError(cat("checkpoint.", rule), message);
}

// Over names, texts, types and elements, each text with its length.
class Checksum {
 public:
  explicit Checksum(const SafeTensors& file) {
    for (const auto& [name, text] : file.metadata) {
      if (name == kChecksum) continue;
      add(name);
      add(text);
    }
    for (const auto& [name, value] : file.arrays) {
      add(name);
      add(to_string(value.type()));
      const Literal dense = value.is_splat() ? value.expanded() : value;
      add({static_cast<const char*>(dense.raw()), dense.raw_bytes()});
    }
  }
  std::string text() const { return cat(value_); }

 private:
  void add(std::string_view bytes) {
    const uint64_t size = bytes.size();
    add_raw(&size, sizeof size);
    add_raw(bytes.data(), bytes.size());
  }
  void add_raw(const void* bytes, size_t size) { value_ = crc32_of(bytes, size, value_); }
  uint32_t value_ = 0;
};

template <class Number>
std::optional<Number> number_of(std::string_view text, Number most) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most || text.front() == '-')
    return std::nullopt;
  return value;
}

// What stands behind `prefix`.
std::optional<std::string> after(std::string_view prefix, const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

class Reader {
 public:
  explicit Reader(SafeTensors file) : file_(std::move(file)) {
    if (text("format") != kFormat) fail("format", cat("this is no checkpoint: \"format\" is not ", kFormat));
    if (const int64_t version = number("version", std::numeric_limits<int32_t>::max()); version > kVersion) {
      throw UnsupportedError("checkpoint.version",
                             cat("it has version ", version, ", this program reads up to ", kVersion));
    }
    if (text(kChecksum) != checkpoint_checksum(file_))
      fail("checksum", "the bytes are not those that were written: the checksum differs");
  }

  Checkpoint read() {
    if (!file_.unread.empty())
      fail("array", cat("array \"", file_.unread.begin()->first, "\" is of the type ",
                        file_.unread.begin()->second, ", which no checkpoint holds"));
    constexpr int64_t kMostSteps = int64_t{1} << 48;
    out_.seed = number("seed", std::numeric_limits<uint64_t>::max());
    out_.epoch = number<int64_t>("epoch", std::numeric_limits<int32_t>::max());
    out_.step = number("step", kMostSteps);
    out_.stopped = number<int64_t>("stopped", 1) == 1;
    out_.callbacks.resize(static_cast<size_t>(number("callbacks", kMostCallbacks)));
    for (auto& [name, text] : file_.metadata) {
      if (const auto run = after(kRun, name)) out_.run[*run] = std::move(text);
      if (const auto place = after(kCursor, name))
        out_.cursor.numbers[*place] = number(name.c_str(), std::numeric_limits<uint64_t>::max());
    }
    for (auto& [name, value] : file_.arrays) {
      if (const auto path = after(kVariables, name)) {
        out_.variables.push_back({*path, std::move(value)});
      } else if (const auto log = after(kHistory, name)) {
        add_history(*log, value);
      } else if (const auto rest = after(kCallbacks, name)) {
        callback_field(*rest) = std::move(value);
      } else if (const auto place = after(kCursor, name)) {
        out_.cursor.bytes[*place] = bytes_of(name, value);
      } else {
        fail("array", cat("array \"", name, "\" belongs to nothing"));
      }
    }
    for (const auto& [log, numbers] : out_.history) {
      if (numbers.size() != out_.history.begin()->second.size())
        fail("history", cat("\"", log, "\" has ", numbers.size(), " epochs, \"", out_.history.begin()->first,
                            "\" has ", out_.history.begin()->second.size()));
    }
    return std::move(out_);
  }

 private:
  const std::string& text(const char* name) const {
    const auto it = file_.metadata.find(name);
    if (it == file_.metadata.end() || it->second.empty()) fail("metadata", cat("there is no \"", name, "\""));
    return it->second;
  }
  template <class Number>
  Number number(const char* name, Number most) const {
    const std::optional<Number> value = number_of<Number>(text(name), most);
    if (!value)
      fail("metadata",
           cat("\"", name, "\" must be a whole number from 0 to ", most, ", got \"", text(name), "\""));
    return *value;
  }

  // "2/name" is field `name` of callback 2.
  Literal& callback_field(const std::string& rest) {
    const size_t slash = rest.find('/');
    const auto index = slash == 0 || slash == std::string::npos
                           ? std::nullopt
                           : number_of(std::string_view(rest).substr(0, slash), uint64_t{kMostCallbacks});
    if (!index || *index >= out_.callbacks.size())
      fail("callbacks",
           cat("\"", kCallbacks, rest, "\" is of none of ", out_.callbacks.size(), " callbacks"));
    return out_.callbacks[*index][rest.substr(slash + 1)];
  }

  static std::string bytes_of(const std::string& name, const Literal& value) {
    const TensorType& type = value.type();
    if (type.dtype != DType::kU8 || type.shape.size() != 1)
      fail("cursor", cat("\"", name, "\" must be bytes, u8[n], it is ", type));
    const Literal dense = value.is_splat() ? value.expanded() : value;
    return {static_cast<const char*>(dense.raw()), dense.raw_bytes()};
  }

  void add_history(const std::string& log, const Literal& value) {
    const TensorType& type = value.type();
    if (type.dtype != DType::kF64 || type.shape.size() != 1 || type.shape[0] > out_.epoch)
      fail("history",
           cat("\"", log, "\" must be one f64 for each epoch before ", out_.epoch, ", got ", type));
    std::vector<double>& numbers = out_.history[log];
    numbers.resize(static_cast<size_t>(type.shape[0]));
    if (!numbers.empty()) std::memcpy(numbers.data(), value.raw(), value.raw_bytes());
  }

  SafeTensors file_;
  Checkpoint out_;
};

}  // namespace

std::string checkpoint_checksum(const SafeTensors& file) { return Checksum(file).text(); }

namespace {

SafeTensors file_of(const Checkpoint& checkpoint) {
  SafeTensors file;
  file.metadata = {{"format", kFormat},
                   {"version", cat(checkpoint.cursor.bytes.empty() ? kVersionWithoutBytes : kVersion)},
                   {"seed", cat(checkpoint.seed)},
                   {"epoch", cat(checkpoint.epoch)},
                   {"step", cat(checkpoint.step)},
                   {"stopped", checkpoint.stopped ? "1" : "0"},
                   {"callbacks", cat(checkpoint.callbacks.size())}};
  for (const auto& [name, text] : checkpoint.run) file.metadata[kRun + name] = text;
  for (const auto& [name, number] : checkpoint.cursor.numbers) file.metadata[kCursor + name] = cat(number);
  for (const auto& [name, bytes] : checkpoint.cursor.bytes) {
    const TensorType type{DType::kU8, {static_cast<int64_t>(bytes.size())}};
    file.arrays.push_back({kCursor + name, Literal::copy(type, bytes.data())});
  }
  for (const auto& [name, value] : checkpoint.variables) file.arrays.push_back({kVariables + name, value});
  for (const auto& [name, numbers] : checkpoint.history) {
    const TensorType type{DType::kF64, {static_cast<int64_t>(numbers.size())}};
    file.arrays.push_back({kHistory + name, Literal::copy(type, numbers.data())});
  }
  for (size_t i = 0; i < checkpoint.callbacks.size(); ++i) {
    const std::string prefix = cat(kCallbacks, i, "/");
    for (const auto& [name, value] : checkpoint.callbacks[i]) file.arrays.push_back({prefix + name, value});
  }
  file.metadata[kChecksum] = checkpoint_checksum(file);
  return file;
}

}  // namespace

std::string checkpoint_bytes(const Checkpoint& checkpoint) { return safetensors_bytes(file_of(checkpoint)); }

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  write_safetensors(path, file_of(checkpoint));
}

Checkpoint parse_checkpoint(std::string_view bytes) {
  return Reader(parse_safetensors(std::as_bytes(std::span(bytes)))).read();
}

}  // namespace espalier
