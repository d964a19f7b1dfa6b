// The formats against the fields, texts and bytes of tests/golden/tfmd.py.
#include "ir/golden_test.h"

#include <google/protobuf/descriptor.pb.h>

#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "validate/metadata_files.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;
using nlohmann::json;

std::string describe(const pb::FieldDescriptor& field) {
  std::string out = cat(field.number(), field.is_repeated() ? " repeated " : " optional ", field.type_name());
  if (field.message_type()) out += " " + field.message_type()->full_name();
  if (field.enum_type()) out += " " + field.enum_type()->full_name();
  if (field.containing_oneof()) out += " oneof " + field.containing_oneof()->name();
  if (field.has_default_value() && !field.enum_type())
    out += cat(" default ", static_cast<int>(field.default_value_double()));
  if (field.has_presence()) out += " presence";
  if (field.options().packed()) out += " packed";
  return out;
}

void collect(const pb::EnumDescriptor& which, json& enums) {
  for (int i = 0; i < which.value_count(); ++i)
    enums[which.full_name()][which.value(i)->name()] = which.value(i)->number();
}
void collect(const pb::Descriptor& message, json& messages, json& enums) {
  json& fields = messages[message.full_name()] = json::object();
  for (int i = 0; i < message.field_count(); ++i)
    fields[message.field(i)->name()] = describe(*message.field(i));
  for (int i = 0; i < message.nested_type_count(); ++i) collect(*message.nested_type(i), messages, enums);
  for (int i = 0; i < message.enum_type_count(); ++i) collect(*message.enum_type(i), enums);
}
// With the files that it imports.
void collect(const pb::FileDescriptor& file, json& messages, json& enums) {
  if (file.package() != "tensorflow.metadata.v0") return;
  for (int i = 0; i < file.message_type_count(); ++i) collect(*file.message_type(i), messages, enums);
  for (int i = 0; i < file.enum_type_count(); ++i) collect(*file.enum_type(i), enums);
  for (int i = 0; i < file.dependency_count(); ++i) collect(*file.dependency(i), messages, enums);
}

TEST(MetadataGoldens, FieldsAreTensorflowMetadatas) {
  json messages = json::object(), enums = json::object();
  collect(*tfmd::Anomalies::descriptor()->file(), messages, enums);
  collect(*tfmd::DatasetFeatureStatisticsList::descriptor()->file(), messages, enums);
  const json theirs = read_golden("tfmd.json");
  EXPECT_EQ(messages, theirs.at("messages")) << json::diff(theirs.at("messages"), messages).dump(1);
  EXPECT_EQ(enums, theirs.at("enums")) << json::diff(theirs.at("enums"), enums).dump(1);
}

std::string unhex(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

TEST(MetadataGoldens, TextAndBytesAreThoseOfProtobufInPython) {
  const json theirs = read_golden("tfmd.json");
  for (const json& sample : theirs.at("samples")) {
    const auto* type =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(sample.at("type").get<std::string>());
    const std::string text = sample.at("text"), bytes = unhex(sample.at("bytes"));
    for (const std::string& from : {text, bytes}) {
      const std::unique_ptr<pb::Message> message(
          pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
      parse_metadata(from, *message);
      EXPECT_EQ(metadata_bytes(*message, MetadataForm::kText), text);
      if (sample.at("keys") == 1) {
        EXPECT_EQ(metadata_bytes(*message, MetadataForm::kBinary), bytes) << text;
      }
    }
  }
}

}  // namespace
}  // namespace espalier
