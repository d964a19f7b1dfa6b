#include "validate/message_memory.h"

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format.h>

#include "base/format.h"
#include "espalier/error.h"
#include "format/utf8.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;
using Wire = pb::internal::WireFormatLite;

// Of objects of the heap, with what the heap adds.
constexpr uint64_t kString = 64, kNumber = 24, kUnknown = 96, kMessage = 512;
constexpr int kDepth = 100;

uint64_t size_of_message(const pb::Descriptor& type) {
  // What holds an entry of a map is no message of its own.
  if (type.map_key()) return kMessage;
  const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(&type);
  return prototype->SpaceUsedLong() + 32;
}

class Look {
 public:
  explicit Look(std::string_view bytes) : all_(bytes) {}

  bool message(size_t begin, size_t end, const pb::Descriptor& type, int depth) {
    out.memory += size_of_message(type);
    if (depth > kDepth) return fail(begin, "messages within each other, more than 100");
    for (size_t at = begin; at < end;) {
      const size_t field_at = at;
      uint64_t tag = 0;
      if (!varint(at, end, tag)) return false;
      const pb::FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
      if (tag >> 32 || tag >> 3 == 0) return fail(field_at, cat("a field of the number ", tag >> 3));
      if (!value(at, end, static_cast<int>(tag & 7), tag >> 3, field, depth)) return false;
    }
    return true;
  }
  WireLook out;

 private:
  bool fail(size_t at, const std::string& why) {
    out.flaw = cat("byte ", at, ": ", why);
    return false;
  }
  bool varint(size_t& at, size_t end, uint64_t& value) {
    value = 0;
    for (size_t first = at, shift = 0; shift < 70; shift += 7) {
      if (at == end) return fail(first, "the message ends inside of a number");
      const auto byte = static_cast<unsigned char>(all_[at++]);
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return fail(at, "a number of more than ten bytes");
  }
  bool skip(size_t& at, size_t end, uint64_t size) {
    if (size > end - at) return fail(at, cat("a field of ", size, " bytes where ", end - at, " are left"));
    at += size;
    return true;
  }

  bool value(size_t& at, size_t end, int wire, uint64_t number, const pb::FieldDescriptor* field, int depth) {
    const bool repeated_number = wire == Wire::WIRETYPE_LENGTH_DELIMITED && field && field->is_packable();
    if (!field ||
        (!repeated_number && wire != pb::internal::WireFormat::WireTypeForFieldType(field->type()))) {
      ++out.unknown;
      out.memory += kUnknown;
      field = nullptr;
    }
    uint64_t size = 0;
    switch (wire) {
      case Wire::WIRETYPE_VARINT:
        out.memory += field && !field->is_repeated() ? 0 : kNumber;
        return varint(at, end, size);
      case Wire::WIRETYPE_FIXED64:
        out.memory += field && !field->is_repeated() ? 0 : kNumber;
        return skip(at, end, 8);
      case Wire::WIRETYPE_FIXED32:
        out.memory += field && !field->is_repeated() ? 0 : kNumber;
        return skip(at, end, 4);
      case Wire::WIRETYPE_START_GROUP:
        return group(at, end, number, depth + 1);
      case Wire::WIRETYPE_LENGTH_DELIMITED: {
        if (!varint(at, end, size)) return false;
        const size_t begin = at;
        if (!skip(at, end, size)) return false;
        if (field && field->message_type()) return message(begin, at, *field->message_type(), depth + 1);
        out.memory += repeated_number ? kNumber * size : kString + size;
        if (field && field->type() == pb::FieldDescriptor::TYPE_STRING &&
            field->file()->syntax() == pb::FileDescriptor::SYNTAX_PROTO3 &&
            !is_utf8(all_.substr(begin, size)))
          return fail(begin, cat(field->full_name(), " is no UTF-8"));
        return true;
      }
      default:
        return fail(at, cat("a field of the kind ", wire));
    }
  }

  // No message of ours has one.
  bool group(size_t& at, size_t end, uint64_t number, int depth) {
    if (depth > kDepth) return fail(at, "messages within each other, more than 100");
    for (;;) {
      uint64_t tag = 0;
      const size_t field_at = at;
      if (!varint(at, end, tag)) return false;
      if (tag >> 32 || tag >> 3 == 0) return fail(field_at, cat("a field of the number ", tag >> 3));
      if ((tag & 7) == Wire::WIRETYPE_END_GROUP)
        return tag >> 3 == number || fail(field_at, "the end of another group");
      if (!value(at, end, static_cast<int>(tag & 7), tag >> 3, nullptr, depth)) return false;
    }
  }

  std::string_view all_;
};

void check_memory(uint64_t memory, size_t size) {
  constexpr uint64_t kFixed = uint64_t{64} << 20, kTimes = 16;
  if (memory > kFixed + kTimes * size)
    throw FormatError("metadata.memory",
                      cat(size, " bytes that hold up to ", memory, " bytes of messages; at most ", kTimes,
                          " times the bytes and 64 MiB are read"));
}

}  // namespace

WireLook look_at_wire(std::string_view bytes, const pb::Descriptor& type) {
  Look look(bytes);
  look.message(0, bytes.size(), type, 0);
  return look.out;
}

void check_wire_memory(const WireLook& look, size_t size) { check_memory(look.memory, size); }

void check_text_memory(std::string_view text) {
  uint64_t memory = 0;
  for (const char c : text) {
    if (c == '{' || c == '<') memory += kMessage;
    if (c == '"' || c == '\'') memory += kString / 2;
    if (c == ',' || c == ':') memory += kNumber;
  }
  check_memory(memory, text.size());
}

}  // namespace espalier
