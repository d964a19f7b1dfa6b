#include "validate/sketch_bytes.h"

#include <cstring>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

template <class T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T load(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

void SketchWriter::number(uint64_t value) { append_bytes(bytes_, value); }
void SketchWriter::wide(Wide value) { append_bytes(bytes_, value); }
void SketchWriter::real(double value) { append_bytes(bytes_, value); }
void SketchWriter::text(std::string_view value) {
  number(value.size());
  bytes_ += value;
}

std::string_view SketchReader::take(size_t size) {
  if (size > bytes_.size() - at_)
    throw FormatError("sketch.size",
                      cat("byte ", at_, ": ", size, " bytes are wanted, ", bytes_.size() - at_, " are left"));
  at_ += size;
  return bytes_.substr(at_ - size, size);
}

void SketchReader::check(bool valid) const {
  if (!valid) throw FormatError("sketch.value", cat("before byte ", at_, ": a value that no sketch has"));
}

uint64_t SketchReader::number() { return load<uint64_t>(take(8)); }
double SketchReader::real() { return load<double>(take(8)); }
std::string_view SketchReader::text() { return take(number()); }

uint64_t SketchReader::count(size_t bytes) {
  const uint64_t out = number();
  if (out > (bytes_.size() - at_) / bytes)
    throw FormatError("sketch.size", cat("byte ", at_, ": ", out, " items are wanted, ", bytes_.size() - at_,
                                         " bytes are left"));
  return out;
}

SketchReader::Wide SketchReader::wide() {
  constexpr Wide kMost = Wide{1} << 120;
  const auto out = load<Wide>(take(16));
  check(-kMost < out && out < kMost);
  return out;
}

SketchReader::Wide SketchReader::weight() {
  const Wide out = wide();
  check(out >= 0);
  return out;
}

}  // namespace espalier
