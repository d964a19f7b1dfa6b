// Files of tensorflow_metadata: schemas, statistics, anomalies.
#pragma once

#include <string>
#include <string_view>

#include "base/input_file.h"
#include "validate/tfmd/anomalies.pb.h"
#include "validate/tfmd/schema.pb.h"
#include "validate/tfmd/statistics.pb.h"

namespace espalier {

namespace tfmd = ::tensorflow::metadata::v0;

enum class MetadataForm { kText, kBinary, kRecord };  // .pbtxt, .pb, .tfrecord

// By the name's ending. Raises ValueError[metadata.name] for another one.
MetadataForm metadata_form(const std::string& path);

// A Schema, a DatasetFeatureStatisticsList, Anomalies or another message, as text, binary or in a TFRecord,
// plain or gzip; by the content alone. Fields that this version does not know are kept. Memory stays within
// 64 MiB and 16 times the bytes. Raises FormatError[metadata.text, .binary, .memory],
// FormatError[metadata.kind] for a file of another kind, [record.*]; UnsupportedError[metadata.shards] for a
// TFRecord of several.
void parse_metadata(std::string bytes, google::protobuf::Message& message);
// The same of a file; mistakes name it.
void read_metadata(const std::string& path, google::protobuf::Message& message);
template <class Message>
Message read_metadata(const std::string& path) {
  Message message;
  read_metadata(path, message);
  return message;
}

// The message in a file, or of standard input for "-". Raises as read_metadata.
template <class Message>
Message read_message(const std::string& file) {
  if (file != "-") return read_metadata<Message>(file);
  Message message;
  parse_metadata(read_text(file), message);
  return message;
}

// Equal messages have equal bytes. Raises UnsupportedError[metadata.unknown] for text of a message with
// fields that this version does not know, since they have no names.
std::string metadata_bytes(const google::protobuf::Message& message, MetadataForm form);

}  // namespace espalier
