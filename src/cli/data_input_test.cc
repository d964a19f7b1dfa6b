// Tables of all forms as input of `espalier data stats`, `schema` and `validate`.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "format/tfrecord.h"
#include "validate/metadata_files.h"
#include "validate/tfmd/example.pb.h"

namespace espalier::cli {
namespace {

std::string example(const std::vector<int64_t>& ages, const std::string& job) {
  tensorflow::Example out;
  auto& features = *out.mutable_features()->mutable_feature();
  for (const int64_t age : ages) features["age"].mutable_int64_list()->add_value(age);
  if (!job.empty()) features["job"].mutable_bytes_list()->add_value(job);
  return record_bytes(out.SerializeAsString());
}

const char* const kTable = "age;job\n17;clerk\n30;smith\n90;clerk\n";

TEST(DataInput, ExamplesAreDataOfAllVerbs) {
  const std::string folder = fresh_folder("data-input-examples"), schema = folder + "/schema.pbtxt";
  const std::string rows = example({17, 18}, "clerk") + example({90}, "smith") + example({}, "clerk");
  const std::string file = write_file(folder + "/rows.tfrecord", rows);
  std::string progress;
  const std::string shown = call_verb(add_data, {"stats", file}, "", &progress);
  EXPECT_TRUE(
      shown.starts_with("3 rows, 2 features\n\n"
                        "feature  count  missing     mean  deviation  zeros  min  median  max\n"
                        "-------  -----  -------  -------  ---------  -----  ---  ------  ---\n"
                        "age          2        1  41.6667    34.1793      0   17      18   90\n"))
      << shown;
  EXPECT_EQ(progress, "3 rows read of rows.tfrecord\n");
  EXPECT_EQ(shown.substr(0, shown.find("next: ")) + "next: espalier data stats --help\n",
            call_verb(add_data, {"stats", "-"}, rows));
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", file, "--out", schema})));
  tfmd::Schema inferred;
  read_metadata(schema, inferred);
  EXPECT_EQ(inferred.feature(0).value_count().min(), 1);
  EXPECT_EQ(inferred.feature(1).shape().dim(0).size(), 1);
  EXPECT_EQ(call_command(cat("data validate ", file, " --schema ", schema)).code, 0);
  const std::string other = write_file(folder + "/other.tfrecord", example({7}, "baker"));
  const Outcome refused = call_command(cat("data validate ", other, " --schema ", schema));
  EXPECT_EQ(refused.code, 1) << refused.error;
  EXPECT_NE(refused.output.find("job (Unexpected string values: baker"), std::string::npos) << refused.output;
  const Outcome cut =
      call_command(cat("data stats ", write_file(folder + "/cut.tfrecord", rows.substr(0, rows.size() - 3))));
  EXPECT_EQ(cut.code, 2);
  EXPECT_NE(cut.error.find("cut.tfrecord: byte "), std::string::npos) << cut.error;
}

TEST(DataInput, TablesAreDataOfSchemasAndTheirChecks) {
  const std::string folder = fresh_folder("data-input-tables"), schema = folder + "/schema.pbtxt";
  const std::string file = write_file(folder + "/people.csv", kTable);
  const std::string shown = call_verb(add_data, {"schema", file, "--delimiter", ";"});
  EXPECT_TRUE(
      shown.ends_with(cat("\nnext: espalier data schema ", file, " --delimiter ';' --out schema.pbtxt\n")))
      << shown;
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", "-", "--out", schema}, kTable)));
  EXPECT_EQ(call_command(cat("data validate ", file, " --schema ", schema, " --previous ", file)).code, 0);
  const std::string other = write_file(folder + "/other.csv", "age;job\n17;baker\n?;clerk\n");
  const Outcome refused =
      call_command(cat("data validate ", other, " --schema ", schema, " --missing '?' --previous ", file));
  EXPECT_EQ(refused.code, 1) << refused.error;
  EXPECT_TRUE(refused.output.starts_with("2 things are not as the schema says: age")) << refused.output;
}

TEST(DataInput, JsonLinesAreDataOfAllVerbs) {
  const std::string folder = fresh_folder("data-input-json"), schema = folder + "/schema.pbtxt";
  const std::string rows =
      "{\"age\": 17, \"trip\": {\"day\": [1, 2]}}\n{\"age\": 90, \"trip\": {\"day\": []}}\n";
  const std::string file = write_file(folder + "/rows.txt", rows);
  const std::string shown = call_verb(add_data, {"stats", file});
  EXPECT_TRUE(
      shown.starts_with("2 rows, 2 features\n\n"
                        "feature   count  missing  mean  deviation  zeros  min  median  max\n"
                        "--------  -----  -------  ----  ---------  -----  ---  ------  ---\n"
                        "age           2        0  53.5       36.5      0   17    53.5   90\n"
                        "trip.day      2        0   1.5        0.5      0    1     1.5    2\n"))
      << shown;
  EXPECT_EQ(shown.substr(0, shown.find("next: ")) + "next: espalier data stats --help\n",
            call_verb(add_data, {"stats", "-"}, rows));
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", file, "--out", schema})));
  EXPECT_EQ(call_command(cat("data validate ", file, " --schema ", schema)).code, 0);
  const std::string bad = write_file(folder + "/bad.jsonl", rows + "{\"age\": \"x\"}\n");
  const Outcome refused = call_command(cat("data validate ", bad, " --schema ", schema));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.error.find("bad.jsonl: line 3: \"age\" has texts, and whole numbers before"),
            std::string::npos)
      << refused.error;
}

TEST(DataInput, AFirstRecordThatIsBrokenNamesItsFile) {
  const std::string file = write_file(fresh_folder("data-input-broken") + "/big.tfrecord",
                                      record_bytes(std::string(100, 'x')).substr(0, 40));
  EXPECT_NE(
      call_command("data stats " + file).error.find("espalier: big.tfrecord: byte 0: a record of 100 bytes"),
      std::string::npos);
}

TEST(DataInput, SchemasNoteWordsThatMeanMissingElsewhere) {
  const std::string rows = "job,age\nbaker,17\n?,18\nNA,20\n";
  std::string progress;
  call_verb(add_data, {"schema", "-", "--show"}, rows, &progress);
  EXPECT_EQ(progress,
            "3 rows read of standard input\nnote: ?,NA are values of job; to say that they mean that "
            "none is there: --missing '?,NA'\n");
  call_verb(add_data, {"schema", "-", "--missing", "?"}, rows, &progress);
  EXPECT_EQ(progress, "3 rows read of standard input\n");
}

TEST(DataInput, SketchesOfDaysAreMerged) {
  const std::string folder = fresh_folder("data-input-sketches");
  const std::string one = write_file(folder + "/1.csv", "a,b\n1,x\n2,y\n"),
                    two = write_file(folder + "/2.csv", "a,b\n3.5,x\n,x\n");
  const std::string first = folder + "/1.sketch", second = folder + "/2.sketch",
                    both = folder + "/both.sketch";
  EXPECT_TRUE(call_verb(add_data, {"stats", one, "--sketch", first}).starts_with("2 rows, 2 features\n"));
  call_verb(add_data, {"stats", two, "--sketch", second, "--out", folder + "/2.pb"});
  std::string progress;
  const std::string merged = call_verb(add_data, {"stats", second, first, "--sketch", both}, "", &progress);
  EXPECT_EQ(progress, "4 rows read of 2.sketch, 1.sketch\n");
  const std::string whole = call_verb(add_data, {"stats", one, two, "--sketch", folder + "/whole.sketch"});
  EXPECT_EQ(merged.substr(0, merged.find("next: ")), whole.substr(0, whole.find("next: ")));
  EXPECT_EQ(posix_env().read_file(both), posix_env().read_file(folder + "/whole.sketch"));
  EXPECT_TRUE(call_verb(add_data, {"stats", both}).starts_with("4 rows, 2 features\n"));
  // They are data for schemas too.
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", both, "--out", folder + "/schema.pbtxt"})));
  EXPECT_EQ(call_command(cat("data validate ", first, " --schema ", folder, "/schema.pbtxt")).code, 1);
  EXPECT_THROW(call_verb(add_data, {"stats", first, one}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", first, second, "--missing", "?"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", first, second, "--sketch", first}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", folder + "/2.pb", "--sketch", both}), ValueError);
  const Outcome lost = call_command(cat("data stats ", folder, "/2.pb ", folder, "/2.pb"));
  EXPECT_EQ(lost.code, 2);
  EXPECT_NE(lost.error.find("statistics of several files cannot be made one"), std::string::npos)
      << lost.error;
}

TEST(DataInput, EveryRowOfAStreamIsRead) {
  const std::string folder = fresh_folder("data-input-streams"), pipe = folder + "/pipe";
  std::string text = "age\n";
  for (int i = 0; i < 100000; ++i) text += cat(i % 90, "\n");
  const std::string file = write_file(folder + "/rows.csv", text), schema = folder + "/schema.pbtxt";
  call_verb(add_data, {"schema", file, "--out", schema});
  int pipes = 0;
  const auto piped = [&](const std::string& arguments, const std::string& bytes) {
    const std::string at = cat(pipe, pipes++);
    return call_with_pipe(bytes, at, cat("data ", arguments, " ", at));
  };
  for (const Outcome& out :
       {piped("stats", file), piped("schema", file), piped(cat("validate --schema ", schema), file),
        piped(cat("validate ", file, " --schema ", schema, " --previous"), file)}) {
    EXPECT_EQ(out.code, 0) << out.error;
    EXPECT_NE(out.error.find("100000 rows read of pipe"), std::string::npos) << out.error;
  }
  EXPECT_EQ(piped("schema", schema).output, call_command(cat("data schema ", schema)).output);
  const Outcome standard =
      call_shell(cat("cat ", file, " | ", build_folder(), "/espalier data stats /dev/stdin"));
  EXPECT_EQ(standard.code, 0) << standard.error;
  EXPECT_NE(standard.error.find("100000 rows read of stdin"), std::string::npos) << standard.error;
  EXPECT_TRUE(standard.output.ends_with("next: " + build_folder() + "/espalier data stats --help\n"))
      << standard.output;
}

TEST(DataInput, FlagsOfTablesAreForTables) {
  const std::string folder = fresh_folder("data-input-flags");
  const std::string records = write_file(folder + "/rows.tfrecord", example({17}, "clerk"));
  const std::string schema =
      write_file(folder + "/schema.txt", "# people\nfeature { name: \"age\" type: INT }\n");
  EXPECT_THROW(call_verb(add_data, {"stats", records, "--missing", "?"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", records, "--delimiter", ";"}), ValueError);
  EXPECT_NE(call_verb(add_data, {"schema", schema}).find("age"), std::string::npos);
  EXPECT_THROW(call_verb(add_data, {"schema", schema, "--empty-cell", "present"}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"stats", "-", "-"}, kTable), ValueError);
}

}  // namespace
}  // namespace espalier::cli
