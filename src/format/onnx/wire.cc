#include "format/onnx/wire.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier::onnx {
namespace {

[[noreturn]] void fail(const std::string& message) { throw FormatError("onnx.wire", message); }

uint64_t take_varint(std::string_view& text) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (text.empty()) fail("the message ends inside a number");
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail("a number of more than ten bytes");
}

std::string_view take_bytes(std::string_view& text, uint64_t size) {
  if (size > text.size()) fail(cat("a field of ", size, " bytes where ", text.size(), " are left"));
  const std::string_view out = text.substr(0, size);
  text.remove_prefix(size);
  return out;
}

template <class T>
T load(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

void WireWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
  out_ += static_cast<char>(value);
}

void WireWriter::integer(uint32_t field, int64_t value) {
  varint(field << 3);
  varint(static_cast<uint64_t>(value));
}

void WireWriter::real(uint32_t field, float value) {
  varint(field << 3 | 5);
  out_ += raw(value);
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  out_ += value;
}

void WireWriter::packed(uint32_t field, const std::vector<int64_t>& values) {
  WireWriter inside;
  for (const int64_t value : values) inside.varint(static_cast<uint64_t>(value));
  bytes(field, inside.out_);
}

void WireWriter::packed(uint32_t field, const std::vector<float>& values) {
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

bool WireReader::next() {
  if (rest_.empty()) return false;
  const uint64_t key = take_varint(rest_);
  number_ = static_cast<uint32_t>(key >> 3);
  kind_ = static_cast<Kind>(key & 7);
  if (number_ == 0 || key >> 32 != 0) fail(cat("a field of the number ", key >> 3));
  switch (kind_) {
    case kVarint:
      value_ = take_varint(rest_);
      return true;
    case kFixed64:
      bytes_ = take_bytes(rest_, 8);
      return true;
    case kFixed32:
      bytes_ = take_bytes(rest_, 4);
      return true;
    case kBytes: {
      const uint64_t size = take_varint(rest_);
      bytes_ = take_bytes(rest_, size);
      return true;
    }
  }
  fail(cat("field ", number_, " is of the unknown wire type ", key & 7));
}

void WireReader::wrong(const char* wanted) const {
  fail(cat("field ", number_, " must be ", wanted, " and has wire type ", static_cast<uint32_t>(kind_)));
}

int64_t WireReader::integer() const {
  if (kind_ != kVarint) wrong("an integer");
  return static_cast<int64_t>(value_);
}

float WireReader::real() const {
  if (kind_ != kFixed32) wrong("a float");
  return load<float>(bytes_);
}

std::string_view WireReader::bytes() const {
  if (kind_ != kBytes) wrong("bytes");
  return bytes_;
}

void WireReader::append_to(std::vector<int64_t>& values) const {
  if (kind_ == kVarint) return values.push_back(integer());
  std::string_view packed = bytes();
  values.reserve(values.size() + static_cast<size_t>(std::count_if(packed.begin(), packed.end(), [](char c) {
                   return static_cast<unsigned char>(c) < 0x80;
                 })));
  while (!packed.empty()) values.push_back(static_cast<int64_t>(take_varint(packed)));
}

template <class T>
void WireReader::append_fixed(std::vector<T>& values, Kind kind) const {
  if (kind_ != kind && kind_ != kBytes) wrong("numbers of fixed size");
  if (bytes_.size() % sizeof(T) != 0)
    fail(cat("field ", number_, " holds ", bytes_.size(), " bytes of numbers of ", sizeof(T)));
  const size_t before = values.size();
  values.resize(before + bytes_.size() / sizeof(T));
  if (!bytes_.empty()) std::memcpy(values.data() + before, bytes_.data(), bytes_.size());
}

void WireReader::append_to(std::vector<float>& values) const { append_fixed(values, kFixed32); }
void WireReader::append_to(std::vector<double>& values) const { append_fixed(values, kFixed64); }

}  // namespace espalier::onnx
