// Mutated TFRecords of tf.Example, their checksums good and bad: refused with an error, or
// read, and then their statistics are the same in one block and in many.
#include "format/tfrecord.h"

#include "espalier/error.h"
#include "fuzz/cells.h"
#include "fuzz/mutate.h"
#include "validate/statistics.h"
#include "validate/tfmd/example.pb.h"

using namespace espalier;

namespace {

// A "+" ends a record, which gets its checksums; what stands behind the last one has none.
std::string file_of(const std::string& bytes) {
  std::string out;
  size_t at = 0;
  for (size_t end = bytes.find('+'); end != std::string::npos; end = bytes.find('+', at)) {
    out += record_bytes(std::string_view(bytes).substr(at, end - at));
    at = end + 1;
  }
  return out + bytes.substr(at);
}

std::string statistics_of(const std::string& path, size_t block) {
  StatisticsOptions options;
  options.block = block;
  return metadata_bytes(statistics_of_tables({{path, "file"}}, options).list(), MetadataForm::kBinary);
}

bool accept(const std::string& bytes) {
  const std::string path = fuzz::file_with(file_of(bytes));
  std::string whole;
  bool accepted = true;
  try {
    if (table_form(path) != TableForm::kExamples) return false;
    whole = statistics_of(path, size_t{1} << 14);
  } catch (const FormatError&) {
    accepted = false;
  }
  try {
    if (statistics_of(path, 1) != whole) throw InternalError("statistics of small blocks are others");
  } catch (const FormatError&) {
    if (accepted) throw InternalError("a file that is accepted as a whole is refused in blocks");
  }
  fuzz::read_cells(path);
  return accepted;
}

// In the same order in every process, as protobuf's own map has it not.
std::string bytes_of(const tensorflow::Example& example) {
  return metadata_bytes(example, MetadataForm::kBinary);
}

std::string seed() {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["age"].mutable_int64_list()->add_value(39);
  features["age"].mutable_int64_list()->add_value(-1);
  features["pay"].mutable_float_list()->add_value(0.5f);
  features["job"].mutable_bytes_list()->add_value("clerk");
  features["none"];
  const std::string one = bytes_of(example) + "+";
  features["job"].mutable_bytes_list()->add_value("smith");
  features.erase("pay");
  return one + bytes_of(example) + "+" + one;
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_tfrecord", {seed(), record_bytes("")},
                   {"+", "\x0a", "\x12", "\x1a",
                    "\x0a\x03"
                    "age",
                    "\x12\x02\x0a\x00", "\xff", "\x80"},
                   accept, fuzz::kTenfold);
}
