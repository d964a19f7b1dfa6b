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

void tell_feature(const std::string& name, const Feature& feature, RowValues& out) {
  if (feature.kind_case() == Feature::KIND_NOT_SET) {
    out.named(name);
    return;
  }
  out.present(name);
  switch (feature.kind_case()) {
    case Feature::kInt64List:
      out.type(CellType::kInt);
      for (const int64_t value : feature.int64_list().value()) out.whole(value);
      break;
    case Feature::kFloatList:
      out.type(CellType::kFloat);
      for (const float value : feature.float_list().value()) out.real(value);
      break;
    case Feature::kBytesList:
      out.type(CellType::kText);
      for (const std::string& value : feature.bytes_list().value()) out.text(value);
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

class ExampleBlocks : public NamedBlocks {
 public:
  ExampleBlocks(std::unique_ptr<ByteSource> bytes, size_t block) : blocks_(std::move(bytes), block) {}

  bool next(TableBlock& out) override {
    RecordBlock block;
    if (!blocks_.next(block)) return false;
    out = {std::move(block.bytes), block.first, block.offset};
    return true;
  }

  std::unique_ptr<TableRows> rows(TableBlock block) const override {
    auto out = std::make_unique<NamedRows>("record", join_kinds, block.bytes.size());
    tell(block, *out);
    return out;
  }

  void tell(const TableBlock& block, RowValues& out) const override {
    const google::protobuf::LogSilencer silence;
    Example example;
    int64_t number = block.first;
    for (const std::string_view record : parse_records(block.bytes, block.offset)) {
      parse_example(record, cat("record ", number), example);
      out.begin_row(number++);
      for (const auto& [name, feature] : example.features().feature()) tell_feature(name, feature, out);
    }
  }

  JoinTypes join() const override { return join_kinds; }

 private:
  RecordBlocks blocks_;
};

}  // namespace

bool holds_examples(std::unique_ptr<ByteSource> bytes) {
  RecordBlocks blocks(std::move(bytes), 1);
  RecordBlock block;
  if (!blocks.next(block)) return false;
  const WireLook look = look_at_wire(parse_records(block.bytes)[0], *Example::descriptor());
  return look.flaw.empty() && look.unknown == 0;
}

std::unique_ptr<NamedBlocks> open_examples(std::unique_ptr<ByteSource> bytes, size_t block) {
  return std::make_unique<ExampleBlocks>(std::move(bytes), block);
}

}  // namespace espalier
