#include "validate/table_json.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/line_blocks.h"
#include "validate/named_rows.h"

namespace espalier {
namespace {

constexpr size_t kLevels = 32, kLongestName = 1024;
constexpr const char* kOneOnEach =
    "JSON Lines have one whole object on each line, which `jq -c . FILE > rows.jsonl` writes of other JSON; "
    "NaN "
    "is null there, and CSV is named .csv";

std::optional<CellType> join_values(CellType a, CellType b) {
  const bool texts = a == CellType::kText || b == CellType::kText;
  if (texts && a != b && a != CellType::kNone && b != CellType::kNone) return std::nullopt;
  return std::max(a, b);
}

// Puts the values of an object into the current row.
class Row final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Row(int64_t line, RowValues& out) : line_(line), out_(out) {}

  bool null() override {
    check_object();
    if (!list_) out_.named(name_);
    return true;
  }
  bool boolean(bool value) override { return number_integer(value ? 1 : 0); }
  bool number_integer(int64_t value) override {
    begin_value();
    out_.whole(value);
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    const bool whole = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return whole ? number_integer(static_cast<int64_t>(value))
                 : number_float(static_cast<double>(value), cat(value));
  }
  bool number_float(double value, const std::string& written) override {
    begin_value();
    out_.real(value, written);
    return true;
  }
  bool string(std::string& value) override {
    begin_value();
    out_.text(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(size_t) override {
    if (list_) refuse("json.nested", "an object in a list");
    if (levels_.size() == kLevels)
      refuse("json.levels", cat("more than ", kLevels, " objects within each other"));
    levels_.push_back(name_.size());
    return true;
  }
  bool key(std::string& key) override {
    name_.resize(levels_.back());
    if (levels_.size() > 1) name_ += '.';
    name_ += key;
    if (name_.size() > kLongestName) refuse("json.name", cat("a name of more than ", kLongestName, " bytes"));
    return true;
  }
  bool end_object() override {
    name_.resize(levels_.back());
    levels_.pop_back();
    return true;
  }
  bool start_array(size_t) override {
    if (levels_.empty())
      throw FormatError("json.array",
                        cat(place(), ": a list of rows, and JSON Lines have each on its own line"),
                        "jq -c '.[]' FILE > rows.jsonl");
    check_object();
    if (list_) refuse("json.nested", "a list in a list");
    out_.present(name_);
    list_ = true;
    return true;
  }
  bool end_array() override {
    list_ = false;
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception& error) override {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange)
      throw FormatError("json.number", cat(place(), ": a number beyond 64 bits of floating point"));
    throw FormatError("json.syntax", cat(place(), ": no JSON at byte ", byte, " of the line"), kOneOnEach);
  }

 private:
  std::string place() const { return cat("line ", line_); }
  [[noreturn]] void refuse(const char* rule, const std::string& what) const {
    throw FormatError(rule,
                      cat(place(), ": ", name_.empty() ? "" : cat("\"", shortened(name_), "\" is "), what));
  }
  void check_object() const {
    if (levels_.empty())
      throw FormatError("json.object", cat(place(), ": a row is an object, {\"name\": value, ...}"),
                        kOneOnEach);
  }
  void begin_value() {
    check_object();
    if (!list_) out_.present(name_);
  }

  int64_t line_;
  RowValues& out_;
  std::string name_;            // of the value that comes next
  std::vector<size_t> levels_;  // sizes of the names of the objects around
  bool list_ = false;           // its elements come
};

class JsonLines : public NamedBlocks {
 public:
  JsonLines(std::unique_ptr<ByteSource> text, size_t block) : blocks_(std::move(text), block) {}

  bool next(TableBlock& out) override {
    LineBlock block;
    if (!blocks_.next(block)) return false;
    out = {.bytes = std::move(block.text), .first = block.first};
    return true;
  }

  std::unique_ptr<TableRows> rows(TableBlock block) const override {
    auto out = std::make_unique<NamedRows>("line", join_values, block.bytes.size());
    tell(block, *out);
    return out;
  }

  void tell(const TableBlock& block, RowValues& out) const override {
    std::string_view rest = block.bytes;
    for (int64_t number = block.first; !rest.empty(); ++number) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      out.begin_row(number);
      Row row(number, out);
      nlohmann::json::sax_parse(line, &row);
    }
  }

  JoinTypes join() const override { return join_values; }

 private:
  LineBlocks blocks_;
};

}  // namespace

std::unique_ptr<NamedBlocks> open_json_lines(std::unique_ptr<ByteSource> text, size_t block) {
  return std::make_unique<JsonLines>(std::move(text), block);
}

}  // namespace espalier
