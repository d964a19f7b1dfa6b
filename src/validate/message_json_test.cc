#include "validate/message_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "validate/metadata_files.h"

namespace espalier {
namespace {

TEST(MessageJson, HasTheNamesOfFieldsAndNumbersAsNumbers) {
  tfmd::Schema schema;
  parse_metadata(R"(
    feature {
      name: "age" type: INT value_count { min: 1 }
      int_domain { max: 9007199254740993 }
    }
    feature { name: "fare" float_domain { min: 0.1 max: inf } }
    tensor_representation_group {
      key: "b" value { tensor_representation { key: "x" value { dense_tensor { default_value { bytes_value: "\001\377" } } } } }
    }
    tensor_representation_group { key: "a" value {} })",
                 schema);
  EXPECT_EQ(
      json_of_message(schema).dump(),
      R"({"feature":[{"name":"age","value_count":{"min":1},"type":"INT","int_domain":{"max":9007199254740993}},)"
      R"({"name":"fare","float_domain":{"min":0.1,"max":"inf"}}],)"
      R"("tensor_representation_group":{"a":{},"b":{"tensor_representation":{"x":)"
      R"({"dense_tensor":{"default_value":{"bytes_value":"01ff"}}}}}}})");
}

}  // namespace
}  // namespace espalier
