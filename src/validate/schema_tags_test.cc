#include "validate/schema_tags.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"
#include "validate/schema_edit.h"

namespace espalier {
namespace {

using nlohmann::json;

tfmd::Schema with(const std::string& tag) {
  tfmd::Schema out;
  parse_metadata(cat("feature { name: \"x\" annotation { tag: \"espalier.", tag, "\" } }"), out);
  return out;
}
FeatureTags schema_tags_tags(const std::string& tag) { return tags_of(with(tag).feature(0)); }

// What it writes is what it read, and its anomalies are those of the schema without tags.
TEST(SchemaTags, AreReadAndWrittenByTensorflowDataValidation) {
  const json golden = read_golden("tfdv_tags.json");
  tfmd::Schema plain;
  parse_metadata(golden["plain"].get<std::string>(), plain);
  SchemaEdits edits;
  for (const auto& [feature, its] : golden["tags"].items()) {
    for (const json& tag : its) edits.set.push_back(cat(feature, ".", tag.get<std::string>()));
  }
  const tfmd::Schema ours = edited_schema(plain, edits);
  EXPECT_EQ(metadata_bytes(ours, MetadataForm::kText), golden["written"].get<std::string>());
  EXPECT_EQ(golden["anomalies"], golden["anomalies_without_tags"]);
  EXPECT_EQ(golden["anomalies"].size(), 3u);
  tfmd::Schema read;
  parse_metadata(golden["written"].get<std::string>(), read);
  const FeatureTags age = tags_of(read.feature(0)), skin = tags_of(read.feature(2));
  EXPECT_EQ(age.unit, "years");
  EXPECT_EQ(age.buckets, "25,45,65");
  EXPECT_FALSE(age.sensitive);
  EXPECT_TRUE(tags_of(read.feature(1)).sensitive);
  EXPECT_TRUE(skin.sensitive && skin.monk);
  EXPECT_EQ(skin.buckets, "monk3");
  EXPECT_EQ(tags_of(read.feature(3)).favourable, "1");
}

TEST(SchemaTags, ThatSayNothingAreRefused) {
  EXPECT_EQ(schema_tags_tags("buckets=-1.5,0,1e3").buckets, "-1.5,0,1e3");
  for (const char* bad :
       {"role=label", "role=", "scale=fitzpatrick", "buckets=", "buckets=3,2", "buckets=2,2", "buckets=1,,2",
        "buckets=1,2,", "buckets=monk4", "unit=", "favourable=", "rolle=sensitive"})
    EXPECT_EQ(rule_of([&] { schema_tags_tags(bad); }), "schema.tag") << bad;
  const auto edit = [&](const std::string& words) {
    return rule_of([&] { edited_schema(with("unit=m"), {.set = {words}}); });
  };
  EXPECT_EQ(edit("x.buckets=9,8"), "schema_edit.value");
  EXPECT_EQ(edit("x.role=secret"), "schema_edit.value");
  EXPECT_EQ(edited_schema(with("unit=m"), {.set = {"x.unit="}}).feature(0).annotation().tag_size(), 0);
}

}  // namespace
}  // namespace espalier
