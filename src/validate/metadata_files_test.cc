#include "validate/metadata_files.h"

#include <zlib.h>

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

const std::string kStored = shared_data("tfmd/");

template <class Call>
std::string mistake(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule() + ": " + error.message() + (error.fix().empty() ? "" : " fix: " + error.fix());
  }
  return "none";
}

template <class Message = tfmd::Schema>
std::string mistake_in(const std::string& bytes) {
  return mistake([&] {
    Message message;
    parse_metadata(bytes, message);
  });
}

tfmd::Schema small_schema() {
  tfmd::Schema schema;
  tfmd::Feature& feature = *schema.add_feature();
  feature.set_name("age");
  feature.set_type(tfmd::INT);
  feature.mutable_presence()->set_min_fraction(0.5);
  schema.add_feature()->set_name("paid");
  return schema;
}

tfmd::DatasetFeatureStatisticsList small_statistics() {
  tfmd::DatasetFeatureStatisticsList list;
  tfmd::DatasetFeatureStatistics& data = *list.add_datasets();
  data.set_num_examples(3);
  data.add_features()->mutable_num_stats()->set_mean(2.5);
  return list;
}

TEST(MetadataFiles, StoredStatisticsComeBackByteForByte) {
  if (!std::filesystem::exists(kStored)) GTEST_SKIP() << kStored << " is not there";
  for (const char* name : {"taxi-train-FeatureStats.pb", "taxi-eval-FeatureStats.pb"}) {
    tfmd::DatasetFeatureStatisticsList list, again;
    read_metadata(kStored + name, list);
    EXPECT_EQ(list.datasets(0).features_size(), 18) << name;
    EXPECT_EQ(metadata_bytes(list, MetadataForm::kBinary), posix_env().read_file(kStored + name)) << name;
    parse_metadata(metadata_bytes(list, MetadataForm::kText), again);
    EXPECT_EQ(metadata_bytes(again, MetadataForm::kBinary), posix_env().read_file(kStored + name)) << name;
  }
}

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line[first] != '#') out += line + "\n";
  }
  return out;
}

TEST(MetadataFiles, StoredSchemasComeBackLetterForLetter) {
  if (!std::filesystem::exists(kStored)) GTEST_SKIP() << kStored << " is not there";
  for (const char* name : {"taxi-schema.pbtxt", "taxi-schema-curated.pbtxt"}) {
    tfmd::Schema schema, again;
    read_metadata(kStored + name, schema);
    EXPECT_EQ(schema.feature_size(), 18) << name;
    const std::string text = metadata_bytes(schema, MetadataForm::kText);
    EXPECT_EQ(text, without_comments(posix_env().read_file(kStored + name))) << name;
    parse_metadata(text, again);
    EXPECT_EQ(metadata_bytes(again, MetadataForm::kBinary), metadata_bytes(schema, MetadataForm::kBinary))
        << name;
  }
}

std::string gzip(const std::string& bytes) {
  std::string out(bytes.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  return out.substr(0, stream.total_out);
}

TEST(MetadataFiles, AFormIsKnownByItsContent) {
  const tfmd::Schema schema = small_schema();
  const std::string binary = metadata_bytes(schema, MetadataForm::kBinary);
  for (const MetadataForm form : {MetadataForm::kText, MetadataForm::kBinary, MetadataForm::kRecord}) {
    const std::string bytes = metadata_bytes(schema, form);
    for (const std::string& file : {bytes, gzip(bytes)}) {
      tfmd::Schema read;
      parse_metadata(file, read);
      EXPECT_EQ(metadata_bytes(read, MetadataForm::kBinary), binary);
    }
  }
  // Bytes without a control character: fields of 32 bytes and more.
  tfmd::Schema readable, read;
  readable.add_default_environment("the environment in which it is served");
  const std::string bytes = metadata_bytes(readable, MetadataForm::kBinary);
  EXPECT_EQ(bytes.find_first_of("\x01\x02\x08"), std::string::npos);
  parse_metadata(bytes, read);
  EXPECT_EQ(read.default_environment(0), readable.default_environment(0));
}

TEST(MetadataFiles, ANameSaysHowToWrite) {
  EXPECT_EQ(metadata_form("a/schema.pbtxt"), MetadataForm::kText);
  EXPECT_EQ(metadata_form("stats.pb"), MetadataForm::kBinary);
  EXPECT_EQ(metadata_form("stats.tfrecord"), MetadataForm::kRecord);
  EXPECT_EQ(
      mistake([] { metadata_form("schema.json"); }),
      "metadata.name: \"schema.json\" says by its ending how it is written: .pbtxt is text, .pb binary, "
      ".tfrecord a TFRecord");
}

TEST(MetadataFiles, EntriesOfMapsMayLackAValue) {
  tfmd::Anomalies bytes, text;
  parse_metadata(std::string("\x12\x03\x0a\x01x", 5), bytes);
  parse_metadata("anomaly_info { key: \"x\" }", text);
  EXPECT_EQ(bytes.anomaly_info().count("x"), 1u);
  EXPECT_EQ(metadata_bytes(bytes, MetadataForm::kText), metadata_bytes(text, MetadataForm::kText));
  EXPECT_EQ(metadata_bytes(bytes, MetadataForm::kBinary), std::string("\x12\x05\x0a\x01x\x12\0", 7));
}

TEST(MetadataFiles, UnknownFieldsSurvive) {
  // Field 36 of a feature, which later versions have, and field 1000 of the schema.
  std::string bytes = metadata_bytes(small_schema(), MetadataForm::kBinary);
  bytes += std::string("\x0a\x07\x0a\x01x\xa2\x02\x01\x05", 9) +
           "\xc2\x3e\x03"
           "abc";
  tfmd::Schema schema;
  parse_metadata(bytes, schema);
  EXPECT_EQ(schema.feature(2).name(), "x");
  EXPECT_EQ(metadata_bytes(schema, MetadataForm::kBinary), bytes);
  EXPECT_EQ(
      mistake([&] { metadata_bytes(schema, MetadataForm::kText); }),
      "metadata.unknown: field Schema.1000 has no name in this version, which text needs fix: write a .pb, "
      "which keeps it");
}

TEST(MetadataFiles, MistakesInTextNameLineAndColumn) {
  EXPECT_EQ(
      mistake_in("feature {\n  nme: \"age\"\n}\n"),
      "metadata.text: line 2, column 6: Message type \"tensorflow.metadata.v0.Feature\" has no field named "
      "\"nme\". fix: write name");
  EXPECT_EQ(mistake_in("feature {").substr(0, 37), "metadata.text: line 1, column 10: Exp");
  const std::string folder = fresh_folder("metadata-files"), path = folder + "/schema.pbtxt";
  posix_env().write_file(path, "feature { type: INTEGER }");
  EXPECT_NE(mistake([&] {
              tfmd::Schema schema;
              read_metadata(path, schema);
            }).find(path + ": line 1, column 25: "),
            std::string::npos);
}

TEST(MetadataFiles, AnotherKindOfFileIsNamed) {
  const std::string wanted = "metadata.kind: this is statistics, expected is a schema";
  for (const MetadataForm form : {MetadataForm::kText, MetadataForm::kBinary, MetadataForm::kRecord})
    EXPECT_EQ(mistake_in(metadata_bytes(small_statistics(), form)), wanted);
  EXPECT_EQ(
      mistake_in<tfmd::DatasetFeatureStatisticsList>(metadata_bytes(small_schema(), MetadataForm::kBinary)),
      "metadata.kind: this is a schema, expected is statistics");
  EXPECT_EQ(mistake_in(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)),
            "metadata.binary: neither text nor bytes of a schema (byte 10: a field of the number 0)");
}

TEST(MetadataFiles, CutBytesAreRefusedWhereverTheyEnd) {
  const std::string bytes = metadata_bytes(small_statistics(), MetadataForm::kBinary);
  // One byte is a line feed, which is text of nothing.
  for (size_t size = 2; size < bytes.size(); ++size)
    EXPECT_NE(mistake_in<tfmd::DatasetFeatureStatisticsList>(bytes.substr(0, size)).find("byte "),
              std::string::npos)
        << size;
}

TEST(MetadataFiles, TextOfStatisticsMustBeUtf8) {
  const std::string flaw = "tensorflow.metadata.v0.DatasetFeatureStatistics.name is no UTF-8";
  EXPECT_EQ(mistake_in<tfmd::DatasetFeatureStatisticsList>("datasets { name: \"\\377\" }"),
            "metadata.text: " + flaw);
  tfmd::DatasetFeatureStatisticsList list = small_statistics();
  list.mutable_datasets(0)->set_name("@");
  std::string bytes = metadata_bytes(list, MetadataForm::kBinary);
  bytes[bytes.find('@')] = '\xff';
  EXPECT_EQ(mistake_in<tfmd::DatasetFeatureStatisticsList>(bytes),
            "metadata.binary: neither text nor bytes of statistics (byte 4: " + flaw + ")");
}

TEST(MetadataFiles, AFewBytesDoNotFillMemory) {
  // Messages of no bytes within one of 2 MiB.
  std::string empties;
  for (int i = 0; i < 1 << 20; ++i) empties += std::string("\x0a\0", 2);
  EXPECT_EQ(mistake_in(empties).substr(0, 16), "metadata.memory:");
  std::string text;
  for (int i = 0; i < 1 << 19; ++i) text += "feature{}";
  EXPECT_EQ(mistake_in(text).substr(0, 16), "metadata.memory:");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep = "feature{struct_domain{" + deep + "}}";
  EXPECT_EQ(mistake_in(deep).substr(0, 14), "metadata.text:");
}

// docs/formats.md: 100 levels.
TEST(MetadataFiles, MessagesLieWithinEachOtherToAHundredLevels) {
  // A feature within the domain of a feature, and so on, is at the odd levels.
  tfmd::Schema schema;
  tfmd::Feature* feature = schema.add_feature();
  for (int level = 3; level < 100; level += 2) feature = feature->mutable_struct_domain()->add_feature();
  tfmd::StructDomain* const at_100 = feature->mutable_struct_domain();
  tfmd::Schema read;
  parse_metadata(metadata_bytes(schema, MetadataForm::kBinary), read);
  EXPECT_EQ(metadata_bytes(read, MetadataForm::kText), metadata_bytes(schema, MetadataForm::kText));
  // The innermost is empty, and begins where all end.
  feature = at_100->add_feature();
  const std::string bytes = metadata_bytes(schema, MetadataForm::kBinary);
  EXPECT_EQ(mistake_in(bytes), cat("metadata.binary: neither text nor bytes of a schema (byte ", bytes.size(),
                                   ": messages within each other, more than 100)"));
  for (int more = 0; more < 400; ++more) feature = feature->mutable_struct_domain()->add_feature();
  EXPECT_NE(mistake_in(metadata_bytes(schema, MetadataForm::kBinary)).find(": messages within each other, "),
            std::string::npos);
}

TEST(MetadataFiles, ATfRecordOfSeveralIsRefused) {
  const std::string record = metadata_bytes(small_statistics(), MetadataForm::kRecord);
  EXPECT_EQ(mistake_in<tfmd::DatasetFeatureStatisticsList>(record + record),
            "metadata.shards: a TFRecord of 2 records; one that holds all of it is read");
}

}  // namespace
}  // namespace espalier
