#include "validate/sketch_files.h"

#include <tuple>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/gzip.h"
#include "format/tfrecord.h"
#include "validate/named_rows.h"

namespace espalier {
namespace {

constexpr std::string_view kMagic = "espalier sketch ", kVersion = "6\n";

TableStatistics read_sketch(const TableFile& file) {
  try {
    const std::string content = gunzip(posix_env().read_file(file.path));
    const std::vector<std::string_view> records = parse_records(content);
    if (records.size() != 1 || !records[0].starts_with(kMagic))
      throw FormatError("sketch.file", "not one sketch of statistics");
    const std::string_view rest = records[0].substr(kMagic.size());
    if (!rest.starts_with(kVersion))
      throw FormatError("sketch.version",
                        cat("a sketch of version ", shortened(rest.substr(0, rest.find('\n'))), ", not of ",
                            kVersion.substr(0, kVersion.size() - 1)),
                        "make it of its table again");
    return TableStatistics::read_bytes(rest.substr(kVersion.size()));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(file.name, ": ", error.message()), error.fix());
  }
}

CellType joined(CellType a, CellType b, const std::string& column, const TableFile& file) {
  const bool texts = a == CellType::kText || b == CellType::kText;
  if (texts && a != b && a != CellType::kNone && b != CellType::kNone)
    throw ValueError("sketch.type",
                     cat(file.name, ": \"", shortened(column), "\" has ", name_of(b), ", and ", name_of(a),
                         " in files before"),
                     "read the tables together");
  return std::max(a, b);
}

void merge(TableStatistics& into, TableStatistics more, const TableFile& file, const TableFile& first) {
  const TableColumns &mine = into.columns(), &theirs = more.columns();
  if (mine.names != theirs.names)
    throw ValueError("sketch.columns", cat(file.name, ": its columns are not those of ", first.name));
  const auto asked = [](const StatisticsOptions& of) {
    return std::tie(of.weight, of.slice, of.semantic_domains, of.crosses);
  };
  if (asked(into.options()) != asked(more.options()))
    throw ValueError(
        "sketch.flags",
        cat(file.name, ": its weight, slice, crosses or semantic domains are not those of ", first.name));
  std::vector<CellType> types;
  for (size_t i = 0; i < mine.names.size(); ++i)
    types.push_back(joined(mine.types[i], theirs.types[i], mine.names[i], file));
  into.set_types(types);
  more.set_types(types);
  into.merge(more);
}

}  // namespace

std::string sketch_file(const TableStatistics& statistics) {
  return record_bytes(cat(kMagic, kVersion, statistics.bytes()));
}

bool is_sketch_file(const std::string& path) {
  constexpr size_t kHead = 12;
  std::string first(kHead + kMagic.size(), '\0');
  first.resize(open_unpacked(path)->read(first.data(), first.size()));
  return is_records(first) && std::string_view(first).substr(kHead).starts_with(kMagic);
}

TableStatistics merged_sketches(const std::vector<TableFile>& files) {
  TableStatistics out = read_sketch(files[0]);
  for (size_t i = 1; i < files.size(); ++i) merge(out, read_sketch(files[i]), files[i], files[0]);
  return out;
}

}  // namespace espalier
