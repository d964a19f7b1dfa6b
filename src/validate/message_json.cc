#include "validate/message_json.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::ordered_json;

template <class T>
Json number(T value) {
  // By the digits of its own type: 0.1 of a float is 0.1.
  if (std::isfinite(value)) return std::stod(shortest(value));
  return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

std::string hexadecimal(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// The value of a field, or number `i` of a repeated one.
Json value_of(const pb::Message& message, const pb::FieldDescriptor& field, int i) {
  const pb::Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  const auto take = [&](auto one, auto of_many) {
    return many ? (reflection.*of_many)(message, &field, i) : (reflection.*one)(message, &field);
  };
  using R = pb::Reflection;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return take(&R::GetInt32, &R::GetRepeatedInt32);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return take(&R::GetInt64, &R::GetRepeatedInt64);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return take(&R::GetUInt32, &R::GetRepeatedUInt32);
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return take(&R::GetUInt64, &R::GetRepeatedUInt64);
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return number(take(&R::GetDouble, &R::GetRepeatedDouble));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return number(take(&R::GetFloat, &R::GetRepeatedFloat));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return take(&R::GetBool, &R::GetRepeatedBool);
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const int chosen = take(&R::GetEnumValue, &R::GetRepeatedEnumValue);
      const pb::EnumValueDescriptor* named = field.enum_type()->FindValueByNumber(chosen);
      return named ? Json(named->name()) : Json(chosen);
    }
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = take(&R::GetString, &R::GetRepeatedString);
      return field.type() == pb::FieldDescriptor::TYPE_BYTES ? hexadecimal(text) : text;
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return json_of_message(many ? reflection.GetRepeatedMessage(message, &field, i)
                                  : reflection.GetMessage(message, &field));
  }
  throw InternalError("a field of no kind");
}

Json map_of(const pb::Message& message, const pb::FieldDescriptor& field) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::map<std::string, Json> sorted;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    sorted[value_of(entry, *field.message_type()->map_key(), 0)] =
        value_of(entry, *field.message_type()->map_value(), 0);
  }
  Json out = Json::object();
  for (auto& [key, value] : sorted) out[key] = std::move(value);
  return out;
}

}  // namespace

Json json_of_message(const pb::Message& message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  Json out = Json::object();
  for (const pb::FieldDescriptor* field : fields) {
    Json& value = out[field->name()];
    if (field->is_map()) {
      value = map_of(message, *field);
    } else if (field->is_repeated()) {
      value = Json::array();
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
        value.push_back(value_of(message, *field, i));
    } else {
      value = value_of(message, *field, 0);
    }
  }
  return out;
}

}  // namespace espalier
