// The wire format of protocol buffers: what the messages of ONNX need of it.
// Source: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::onnx {

// Appends the fields of one message. A field of the same number written twice is repeated.
class WireWriter {
 public:
  void integer(uint32_t field, int64_t value);
  void real(uint32_t field, float value);
  // A string, bytes or a message.
  void bytes(uint32_t field, std::string_view value);
  void packed(uint32_t field, const std::vector<int64_t>& values);
  void packed(uint32_t field, const std::vector<float>& values);
  std::string take() { return std::move(out_); }

 private:
  void varint(uint64_t value);
  std::string out_;
};

// Walks over the fields of one message:
//
//   for (WireReader fields(message); fields.next();)
//     if (fields.number() == 1) name = fields.bytes();
//
// Raises FormatError[onnx.wire] for what is no message, and when a field is not of the kind asked for.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}
  bool next();
  uint32_t number() const { return number_; }
  int64_t integer() const;
  float real() const;
  std::string_view bytes() const;
  // Appends the value of a repeated field, which is packed or not. Room is made once for packed ones.
  void append_to(std::vector<int64_t>& values) const;
  void append_to(std::vector<float>& values) const;
  void append_to(std::vector<double>& values) const;

 private:
  enum Kind : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  [[noreturn]] void wrong(const char* wanted) const;
  template <class T>
  void append_fixed(std::vector<T>& values, Kind kind) const;
  std::string_view rest_, bytes_;
  uint64_t value_ = 0;
  uint32_t number_ = 0;
  Kind kind_ = kVarint;
};

}  // namespace espalier::onnx
