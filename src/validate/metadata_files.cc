#include "validate/metadata_files.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "format/gzip.h"
#include "format/tfrecord.h"
#include "validate/message_memory.h"
#include "validate/message_text.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;

constexpr size_t kMostBytes = size_t{1} << 30;

const std::array<const pb::Message*, 3>& kinds() {
  static const std::array<const pb::Message*, 3> all{&tfmd::Schema::default_instance(),
                                                     &tfmd::DatasetFeatureStatisticsList::default_instance(),
                                                     &tfmd::Anomalies::default_instance()};
  return all;
}

// What people call it.
std::string kind_of_message(const pb::Message& message) {
  const std::string& name = message.GetDescriptor()->name();
  return name == "Schema"                         ? "a schema"
         : name == "Anomalies"                    ? "anomalies"
         : name == "DatasetFeatureStatisticsList" ? "statistics"
                                                  : name;
}

// Text of protobuf has no control characters but white space; messages have them as the lengths of fields.
bool has_control_characters(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 &&
           std::string_view("\t\n\v\f\r").find(c) == std::string_view::npos;
  });
}

// Messages do not say what they are; the type whose fields they have is it.
[[noreturn]] void throw_kind(const pb::Message& wanted, const pb::Message& found) {
  throw FormatError("metadata.kind",
                    cat("this is ", kind_of_message(found), ", expected is ", kind_of_message(wanted)));
}

void parse_binary(std::string_view bytes, pb::Message& message) {
  const WireLook look = look_at_wire(bytes, *message.GetDescriptor());
  if (!look.flaw.empty() || look.unknown > 0) {
    for (const pb::Message* kind : kinds()) {
      const WireLook other = look_at_wire(bytes, *kind->GetDescriptor());
      if (other.flaw.empty() && other.unknown == 0) throw_kind(message, *kind);
    }
  }
  const auto fail = [&](const std::string& why) {
    throw FormatError("metadata.binary",
                      cat("neither text nor bytes of ", kind_of_message(message), " (", why, ")"));
  };
  if (!look.flaw.empty()) fail(look.flaw);
  check_wire_memory(look, bytes.size());
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) fail("protobuf refuses them");
}

void parse_text(std::string_view text, pb::Message& message) {
  try {
    parse_message_text(text, message);
  } catch (const FormatError&) {
    for (const pb::Message* kind : kinds()) {
      const std::unique_ptr<pb::Message> other(kind->New());
      bool fits = kind->GetDescriptor() != message.GetDescriptor();
      try {
        if (fits) parse_message_text(text, *other);
      } catch (const FormatError&) {
        fits = false;
      }
      if (fits) throw_kind(message, *other);
    }
    throw;
  }
  // Escapes can write what is no UTF-8.
  const std::string bytes = metadata_bytes(message, MetadataForm::kBinary);
  if (const WireLook look = look_at_wire(bytes, *message.GetDescriptor()); !look.flaw.empty())
    throw FormatError("metadata.text", look.flaw.substr(look.flaw.find(": ") + 2));
}

// The path of the first field without a name, or "".
std::string unknown_field(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  if (const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message); !unknown.empty())
    return cat(message.GetDescriptor()->name(), ".", unknown.field(0).number());
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (!field->message_type()) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const pb::Message& inner = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                      : reflection.GetMessage(message, field);
      if (std::string found = unknown_field(inner); !found.empty()) return found;
    }
  }
  return "";
}

std::string binary_of(const pb::Message& message) {
  std::string out;
  pb::io::StringOutputStream stream(&out);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!message.SerializeToCodedStream(&coded)) throw InternalError("a message cannot be written");
  coded.Trim();
  return out;
}

}  // namespace

MetadataForm metadata_form(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".pbtxt") return MetadataForm::kText;
  if (ending == ".pb") return MetadataForm::kBinary;
  if (ending == ".tfrecord") return MetadataForm::kRecord;
  throw ValueError("metadata.name", cat("\"", path,
                                        "\" says by its ending how it is written: .pbtxt is text, .pb "
                                        "binary, .tfrecord a TFRecord"));
}

void parse_metadata(std::string bytes, pb::Message& message) {
  const pb::LogSilencer silence;
  message.Clear();
  bytes = gunzip(std::move(bytes), kMostBytes);
  if (bytes.size() > kMostBytes)
    throw FormatError("metadata.memory", cat(bytes.size(), " bytes, at most ", kMostBytes, " are read"));
  if (is_records(bytes)) {
    const std::vector<std::string_view> records = parse_records(bytes);
    if (records.size() > 1)
      throw UnsupportedError("metadata.shards", cat("a TFRecord of ", records.size(),
                                                    " records; one that holds all of it is read"));
    return parse_binary(records[0], message);
  }
  if (has_control_characters(bytes)) return parse_binary(bytes, message);
  try {
    parse_text(bytes, message);
  } catch (const FormatError&) {
    const WireLook look = look_at_wire(bytes, *message.GetDescriptor());
    if (!look.flaw.empty() || look.unknown > 0) throw;
    message.Clear();
    parse_binary(bytes, message);
  }
}

void read_metadata(const std::string& path, pb::Message& message) {
  try {
    parse_metadata(posix_env().read_file(path), message);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()), error.fix());
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(error.rule(), cat(path, ": ", error.message()), error.fix());
  }
}

std::string metadata_bytes(const pb::Message& message, MetadataForm form) {
  const pb::LogSilencer silence;
  if (form == MetadataForm::kBinary) return binary_of(message);
  if (form == MetadataForm::kRecord) return record_bytes(binary_of(message));
  if (const std::string field = unknown_field(message); !field.empty())
    throw UnsupportedError("metadata.unknown",
                           cat("field ", field, " has no name in this version, which text needs"),
                           "write a .pb, which keeps it");
  return text_of_message(message);
}

}  // namespace espalier
