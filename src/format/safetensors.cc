#include "format/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "format/utf8.h"

namespace espalier {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are little-endian");

constexpr std::string_view kMetadata = "__metadata__";
constexpr size_t kMostAxes = 64;
constexpr uint64_t kMaxSize = uint64_t{1} << 48;

struct Word {
  DType dtype;
  std::string_view text;
};
constexpr Word kWords[] = {{DType::kBool, "BOOL"}, {DType::kI8, "I8"},     {DType::kI16, "I16"},
                           {DType::kI32, "I32"},   {DType::kI64, "I64"},   {DType::kU8, "U8"},
                           {DType::kU16, "U16"},   {DType::kU32, "U32"},   {DType::kU64, "U64"},
                           {DType::kF16, "F16"},   {DType::kBF16, "BF16"}, {DType::kF32, "F32"},
                           {DType::kF64, "F64"}};

[[noreturn]] void bad_safetensors(const char* rule, std::string_view message) {
  throw FormatError(cat("safetensors.", rule), message);
}

struct ArrayEntry {
  std::string name = {};
  std::optional<DType> dtype = {};
  std::string word = {};  // of the dtype
  Shape shape = {};
  std::vector<uint64_t> offsets = {};
  bool has_shape = false;
};

// Reads the header value by value, so that a long one needs no tree of its own.
class Header final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<ArrayEntry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) override {
    ++depth_;
    if (depth_ > 2 || (depth_ == 2 && in_list_)) wrong("an object");
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_) {
      const ArrayEntry& entry = entries.back();
      if (entry.word.empty() || !entry.has_shape || entry.offsets.size() != 2)
        bad_safetensors("entry", cat("array \"", entry.name, "\" needs dtype, shape and two data_offsets"));
    }
    if (depth_ == 1) in_metadata_ = false;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || in_list_ || (key_ != "shape" && key_ != "data_offsets"))
      wrong("a list");
    in_list_ = true;
    if (key_ == "shape") entries.back().has_shape = true;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool key(std::string& text) override {
    if (depth_ == 1) {
      in_metadata_ = text == kMetadata;
      if (!names_.insert(text).second) bad_safetensors("names", cat("\"", text, "\" stands twice"));
      if (!in_metadata_) entries.push_back({.name = text});
    } else if (!in_metadata_) {
      if (text != "dtype" && text != "shape" && text != "data_offsets")
        bad_safetensors("entry",
                        cat("array \"", entries.back().name, "\" has an unknown field \"", text, "\""));
      const ArrayEntry& entry = entries.back();
      if (text == "dtype" ? !entry.word.empty() : text == "shape" ? entry.has_shape : !entry.offsets.empty())
        bad_safetensors("entry", cat("array \"", entry.name, "\" has two fields \"", text, "\""));
    }
    key_ = std::move(text);
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) {
      metadata[key_] = std::move(text);
      return true;
    }
    if (depth_ != 2 || in_list_ || key_ != "dtype") wrong("a string");
    if (text.empty()) bad_safetensors("dtype", cat("array \"", entries.back().name, "\" has the dtype \"\""));
    const auto it = std::ranges::find(kWords, text, &Word::text);
    if (it != std::end(kWords)) entries.back().dtype = it->dtype;
    entries.back().word = std::move(text);
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (!in_list_) wrong("a number");
    ArrayEntry& entry = entries.back();
    if (key_ == "shape") {
      if (entry.shape.size() == kMostAxes || value > kMaxSize)
        bad_safetensors("shape", cat("array \"", entry.name, "\" has an impossible shape"));
      entry.shape.push_back(static_cast<int64_t>(value));
    } else {
      if (entry.offsets.size() == 2) wrong("a third offset");
      entry.offsets.push_back(value);
    }
    return true;
  }
  bool null() override { wrong("null"); }
  bool boolean(bool) override { wrong("a boolean"); }
  bool number_integer(int64_t) override { wrong("a negative number"); }
  bool number_float(double, const std::string&) override { wrong("a fraction"); }
  bool binary(binary_t&) override { wrong("bytes"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    bad_safetensors("header", cat("the header is no JSON at byte ", position));
  }

 private:
  [[noreturn]] void wrong(const char* what) const {
    bad_safetensors("header", cat(what, " has no place there",
                                  depth_ == 2 && !entries.empty() && !in_metadata_
                                      ? cat(", in array \"", entries.back().name, "\"")
                                      : ""));
  }

  int depth_ = 0;
  bool in_list_ = false, in_metadata_ = false;
  std::string key_;
  std::unordered_set<std::string> names_;
};

// The bytes that an array of this type takes; nothing when no file could hold them. Of a type that is not
// read they are what the file says.
std::optional<uint64_t> bytes_of(const ArrayEntry& entry, uint64_t most) {
  if (!entry.dtype) return entry.offsets[1] - entry.offsets[0];
  if (std::ranges::find(entry.shape, 0) != entry.shape.end()) return 0;
  uint64_t bytes = size_of(*entry.dtype);
  for (const int64_t size : entry.shape) {
    if (bytes > most / static_cast<uint64_t>(size)) return std::nullopt;
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

void check_bools(const ArrayEntry& entry, std::span<const std::byte> elements) {
  if (*entry.dtype != DType::kBool) return;
  const auto wrong = std::ranges::find_if(elements, [](std::byte b) { return b > std::byte{1}; });
  if (wrong != elements.end())
    bad_safetensors(
        "bool", cat("array \"", entry.name, "\": element ", wrong - elements.begin(), " is neither 0 nor 1"));
}

}  // namespace

const Literal* SafeTensors::find(const std::string& name) const {
  if (const auto it = unread.find(name); it != unread.end())
    throw UnsupportedError("safetensors.dtype", cat("array \"", name, "\" has elements of the type ",
                                                    it->second, ", which is not read"));
  const auto it = std::ranges::find(arrays, name, &NamedArray::name);
  return it == arrays.end() ? nullptr : &it->value;
}

SafeTensors parse_safetensors(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    bad_safetensors("header", cat("a file of ", bytes.size(), " bytes has no header"));
  std::memcpy(&length, bytes.data(), sizeof length);
  const auto rest = bytes.subspan(sizeof length);
  if (length > rest.size())
    bad_safetensors("header",
                    cat("the header says it has ", length, " bytes, the file has ", rest.size(), " more"));
  const auto* text = reinterpret_cast<const char*>(rest.data());
  if (length == 0 || text[0] != '{') bad_safetensors("header", "the header does not begin with {");
  Header header;
  nlohmann::json::sax_parse(text, text + length, &header);

  const auto data = rest.subspan(length);
  std::vector<const ArrayEntry*> order;
  for (const ArrayEntry& entry : header.entries) order.push_back(&entry);
  std::ranges::stable_sort(order, {}, [](const ArrayEntry* entry) { return entry->offsets; });
  uint64_t end = 0;
  for (const ArrayEntry* entry : order) {
    const std::optional<uint64_t> needed = bytes_of(*entry, data.size());
    if (entry->offsets[0] != end || entry->offsets[1] < end || entry->offsets[1] > data.size() ||
        needed != entry->offsets[1] - end) {
      bad_safetensors("offsets", cat("array \"", entry->name, "\" lies at [", entry->offsets[0], ", ",
                                     entry->offsets[1], ") of ", data.size(), " bytes; it needs ",
                                     needed ? cat(*needed, " from ", end) : "more than there are"));
    }
    end = entry->offsets[1];
  }
  if (end != data.size())
    bad_safetensors("offsets", cat("the arrays end at byte ", end, " of ", data.size()));

  SafeTensors out;
  out.metadata = std::move(header.metadata);
  for (ArrayEntry& entry : header.entries) {
    if (!entry.dtype) {
      out.unread.emplace(std::move(entry.name), std::move(entry.word));
      continue;
    }
    const auto elements = data.subspan(entry.offsets[0], entry.offsets[1] - entry.offsets[0]);
    check_bools(entry, elements);
    out.arrays.push_back(
        {std::move(entry.name), Literal::copy({*entry.dtype, entry.shape}, elements.data())});
  }
  return out;
}

namespace {

void require_utf8(const std::string& text) {
  if (!is_utf8(text))
    throw ValueError("safetensors.names", cat("\"", utf8_of_windows1252(text), "\" is not UTF-8"));
}

// The length and the header.
std::string head_of(const SafeTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [name, text] : tensors.metadata) require_utf8(name), require_utf8(text);
  if (!tensors.metadata.empty()) header[std::string(kMetadata)] = tensors.metadata;
  uint64_t end = 0;
  for (const auto& [name, value] : tensors.arrays) {
    require_utf8(name);
    if (name == kMetadata || header.contains(name))
      throw ValueError("safetensors.names", cat("\"", name, "\" cannot be the name of another array"));
    const uint64_t begin = end;
    end += value.type().bytes();
    const auto word = std::ranges::find(kWords, value.type().dtype, &Word::dtype);
    header[name] = {{"dtype", word->text},
                    {"shape", std::vector<int64_t>(value.type().shape.begin(), value.type().shape.end())},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

// The elements of each array.
std::vector<Literal> dense_arrays(const SafeTensors& tensors) {
  std::vector<Literal> out;
  for (const auto& [name, value] : tensors.arrays) out.push_back(value.is_splat() ? value.expanded() : value);
  return out;
}

std::string_view bytes_of(const Literal& dense) {
  return {static_cast<const char*>(dense.raw()), dense.raw_bytes()};
}

}  // namespace

std::string safetensors_bytes(const SafeTensors& tensors) {
  std::string out = head_of(tensors);
  const std::vector<Literal> arrays = dense_arrays(tensors);
  size_t size = out.size();
  for (const Literal& dense : arrays) size += dense.raw_bytes();
  out.reserve(size);
  for (const Literal& dense : arrays) out += bytes_of(dense);
  return out;
}

void write_safetensors(const std::string& path, const SafeTensors& tensors) {
  const std::string head = head_of(tensors);
  const std::vector<Literal> arrays = dense_arrays(tensors);
  std::vector<std::string_view> parts{head};
  for (const Literal& dense : arrays) parts.push_back(bytes_of(dense));
  posix_env().write_parts(path, parts);
}

SafeTensors read_safetensors(const std::string& path) {
  const std::string bytes = posix_env().read_file(path);
  try {
    return parse_safetensors(std::as_bytes(std::span(bytes)));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

}  // namespace espalier
