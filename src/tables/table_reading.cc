#include "tables/table_reading.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "espalier/tables.h"
#include "format/byte_source.h"
#include "train/saved_files.h"
#include "validate/table_rows.h"

namespace espalier {
namespace {

// The bytes of a file.
std::string read_with_progress(const std::string& path, const Messages& messages) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  std::error_code unknown;
  const uintmax_t found = std::filesystem::file_size(path, unknown);
  const uint64_t size = unknown ? 0 : found;  // as of a pipe
  // Small files, of which there may be many, need no large part.
  const size_t part = std::clamp<uint64_t>(size + 1, 1 << 16, 1 << 20);
  std::string out;
  out.reserve(size + part);
  constexpr uint64_t kMega = 1000000;
  const Messages::Progress progress =
      messages.progress(cat("reading ", path), static_cast<int64_t>(size / kMega), " MB");
  for (size_t count = part; count == part;) {
    const size_t before = out.size();
    out.resize(before + part);
    count = source->read(out.data() + before, part);
    out.resize(before + count);
    progress(static_cast<int64_t>(out.size() / kMega));
  }
  return out;
}

}  // namespace

TableReading TableReading::beside(char point) const {
  TableReading out = *this;
  out.in_doubt = point;
  return out;
}

std::vector<std::string> TableReading::words() const {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, const std::string& value) {
    out.emplace_back(flag);
    out.push_back(value);
  };
  if (!delimiter.empty()) add("--delimiter", delimiter);
  if (header != "guess") add("--header", header);
  if (!names.empty()) add("--names", names_in_list(names));
  if (decimal != "guess") add("--decimal", decimal);
  return out;
}

char TableReading::separator() const {
  if (delimiter == "\\t" || delimiter == "tab") return '\t';
  if (delimiter.size() > 1)
    throw ValueError("csv.delimiter", cat("a delimiter is one character, got \"", delimiter, "\""));
  return delimiter.empty() ? '\0' : delimiter[0];
}

CsvOptions TableReading::csv_options(const std::vector<std::string>& expected) const {
  CsvOptions out{.delimiter = separator(), .expected = expected};
  if (header != "guess") out.header = header == "yes" ? CsvHeader::kYes : CsvHeader::kNo;
  out.names = names;
  if (decimal != "guess") out.decimal = decimal[0];
  out.decimal_in_doubt = in_doubt;
  return out;
}

void check_table_file(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr size_t kNamed = 3;
  std::error_code none;
  if (path == "-") return;
  check_file(path);
  if (!fs::is_directory(path, none)) return;
  std::vector<std::string> names = posix_env().list_folder(path);
  std::erase_if(names, [](const std::string& name) { return !form_of_name(name); });
  std::string fix;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    fix += cat(i == 0 ? "name a table in it: " : ", ", (fs::path(path) / names[i]).string());
  if (names.size() > kNamed) fix += cat(" and ", names.size() - kNamed, " more");
  if (saved_files::holds_model(path)) fix = "name a table: this is a saved model";
  throw IoError("file.read", cat("cannot read ", path, ": it is a folder, and a table is a file"), fix);
}

void check_csv_name(const std::string& path) {
  constexpr std::array kOthers = {".pb",   ".pbtxt", ".parquet", ".arrow", ".npy",  ".xlsx",
                                  ".toml", ".html",  ".xml",     ".onnx",  ".mlir", ".safetensors"};
  std::filesystem::path plain = path;
  const bool packed = plain.extension() == ".gz";
  if (packed) plain.replace_extension();
  const std::optional<TableForm> form = form_of_name(path);
  const std::string ending = plain.extension().string();
  std::string says;
  if (form && *form != TableForm::kCsv)
    says = *form == TableForm::kExamples ? "TFRecords" : "JSON Lines";
  else if (std::ranges::count(kOthers, ending))
    says = ending;
  else if (packed)
    says = "gzip";
  if (!says.empty())
    throw ValueError("results.csv", cat(path, " is to hold CSV, and its name says ", says),
                     cat("name it ", plain.replace_extension(".csv").string()));
}

CsvTable TableReading::read(const std::string& path, const std::vector<std::string>& expected,
                            const Messages& messages) const {
  check_table_file(path);
  const CsvOptions options = csv_options(expected);
  CsvTable table = path == "-" ? parse_table(read_text(path), source_name(path), options)
                               : parse_table(read_with_progress(path, messages), path, options);
  for (const std::string& note : table.notes()) messages.note(cat(source_name(path), ": ", note));
  return table;
}

void TableReading::check_parted(const CsvTable& table, const std::string& path) const {
  const bool names_itself = !table.had_header() && !table.numbered() && names.empty();
  if (table.columns() > 1 || names_itself) return;
  const std::string_view first = table.had_header() ? table.names()[0] : table.cell(0, 0);
  char other = 0;
  for (const char c : std::string_view(";,\t|")) {
    const auto count = [&](char wanted) { return std::ranges::count(first, wanted); };
    if (c != table.delimiter() && count(c) > (other ? count(other) : 0)) other = c;
  }
  const auto named = [](char c) { return cat("'", c == '\t' ? "tab" : std::string(1, c), "'"); };
  const std::string message = cat(source_name(path), " has one column, \"", shortened(first), "\": ");
  if (!delimiter.empty()) {
    throw ValueError("table.delimiter",
                     cat(message, "--delimiter ", named(table.delimiter()), " does not part its lines"),
                     other ? cat("--delimiter ", named(other)) : "");
  }
  if (other) {
    throw ValueError(
        "table.delimiter",
        cat(message, "each line stands in quotes as a whole, with ", named(other), " between its cells"),
        "save the table again, without quotes around its lines");
  }
}

}  // namespace espalier
