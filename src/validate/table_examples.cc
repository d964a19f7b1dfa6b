#include "validate/table_examples.h"

#include <google/protobuf/stubs/logging.h>

#include "base/format.h"
#include "espalier/error.h"
#include "format/tfrecord.h"
#include "validate/message_memory.h"
#include "validate/named_rows.h"
#include "validate/tfmd/example.pb.h"

namespace espalier {
namespace {

using tensorflow::Example;
using tensorflow::Feature;

std::optional<CellType> join_kinds(CellType a, CellType b) {
  if (a == CellType::kNone || a == b) return b;
  return b == CellType::kNone ? std::optional(a) : std::nullopt;
}

void add_feature(const std::string& name, const Feature& feature, NamedRows& out) {
  if (feature.kind_case() == Feature::KIND_NOT_SET) {
    out.named(name);
    return;
  }
  NamedRows::Column& column = out.present(name);
  switch (feature.kind_case()) {
    case Feature::kInt64List:
      out.set_type(column, CellType::kInt);
      for (const int64_t value : feature.int64_list().value())
        out.add(column, CellType::kInt, static_cast<double>(value));
      break;
    case Feature::kFloatList:
      out.set_type(column, CellType::kFloat);
      for (const float value : feature.float_list().value()) out.add(column, CellType::kFloat, value);
      break;
    case Feature::kBytesList:
      out.set_type(column, CellType::kText);
      for (const std::string& value : feature.bytes_list().value()) out.add(column, value);
      break;
    case Feature::KIND_NOT_SET:
      break;
  }
}

void parse_example(std::string_view record, const std::string& place, Example& example) {
  const WireLook look = look_at_wire(record, *Example::descriptor());
  if (look.flaw.empty()) check_wire_memory(look, record.size());
  if (!look.flaw.empty() || !example.ParseFromArray(record.data(), static_cast<int>(record.size())))
    throw FormatError("examples.record", cat(place, " is no tf.Example (", look.flaw, ")"));
}

class ExampleBlocks : public TableBlocks {
 public:
  ExampleBlocks(const std::string& path, size_t block) : blocks_(open_unpacked(path), block) {}

  bool next(TableBlock& out) override {
    RecordBlock block;
    if (!blocks_.next(block)) return false;
    out = {std::move(block.bytes), block.first, block.offset};
    return true;
  }

  std::unique_ptr<TableRows> rows(TableBlock block) const override {
    const google::protobuf::LogSilencer silence;
    auto out = std::make_unique<NamedRows>("record", join_kinds, block.bytes.size());
    Example example;
    int64_t number = block.first;
    for (const std::string_view record : parse_records(block.bytes, block.offset)) {
      parse_example(record, cat("record ", number), example);
      out->begin_row(number++);
      for (const auto& [name, feature] : example.features().feature()) add_feature(name, feature, *out);
    }
    return out;
  }

  const std::vector<std::string>& names() const override { return none_; }
  const std::vector<std::string>& notes() const override { return none_; }
  JoinTypes join() const override { return join_kinds; }

 private:
  RecordBlocks blocks_;
  std::vector<std::string> none_;
};

}  // namespace

bool holds_examples(const std::string& path) {
  RecordBlocks blocks(open_unpacked(path), 1);
  RecordBlock block;
  if (!blocks.next(block)) return false;
  const WireLook look = look_at_wire(parse_records(block.bytes)[0], *Example::descriptor());
  return look.flaw.empty() && look.unknown == 0;
}

std::unique_ptr<TableBlocks> open_examples(const std::string& path, const TableOptions& options) {
  return std::make_unique<ExampleBlocks>(path, options.block);
}

}  // namespace espalier
