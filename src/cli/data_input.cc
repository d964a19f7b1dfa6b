#include "cli/data_input.h"

#include <algorithm>
#include <cctype>
#include <iostream>

#include "base/format.h"
#include "base/input_file.h"
#include "cli/data_verbs.h"
#include "cli/reading_bar.h"
#include "cli/table_flags.h"
#include "espalier/error.h"
#include "format/byte_source.h"
#include "format/tfrecord.h"
#include "validate/schema_parts.h"
#include "validate/sketch_files.h"

namespace espalier::cli {
namespace {

// Whether the text names a field of a message before it says more of it.
bool begins_with_field(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n";
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with('#')) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  const size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), text.size());
  const std::string name(text.substr(0, end));
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks, end), text.size()));
  const auto has = [&](const google::protobuf::Descriptor* type) { return type->FindFieldByName(name); };
  return (text.starts_with('{') || text.starts_with('<') || text.starts_with(':')) &&
         (has(tfmd::Schema::descriptor()) || has(tfmd::DatasetFeatureStatisticsList::descriptor()) ||
          has(tfmd::Anomalies::descriptor()));
}

// "all" stands for every column of numbers.
std::optional<std::vector<std::string>> crosses(const StatisticsFlags& flags) {
  if (flags.cross.empty()) return std::nullopt;
  return flags.cross == "all" ? std::vector<std::string>() : comma_separated({flags.cross});
}

TableStatistics read_tables(const StatisticsFlags& flags, const std::vector<TableFile>& files) {
  const bool of_csv = !flags.table.words().empty() || !flags.missing.empty() || flags.empty != "missing";
  if (of_csv && table_form(files[0].path) != TableForm::kCsv)
    throw ValueError("stats.flags", cat(source_name(files[0].name),
                                        " is no CSV, and flags were given that say how CSV is read"));
  const auto missing = flags.missing.empty() ? std::vector<std::string>() : comma_separated({flags.missing});
  ReadingBar bar;
  return statistics_of_tables(
      files,
      {.csv = flags.table.csv_options(),
       .empty = {with_domains(missing, flags.schema), flags.empty == "present"},
       .weight = flags.weight,
       .slice = flags.slice,
       .semantic_domains = flags.semantic_domains,
       .crosses = crosses(flags)},
      [&](const TableFile& file, uint64_t bytes) { bar.update(file.path, file.name, bytes); });
}

}  // namespace

InputFiles::InputFiles(const std::vector<std::string>& paths) {
  if (std::ranges::count(paths, "-") > 1)
    throw ValueError("data.input", "standard input can be one of the files, not more");
  for (const std::string& path : paths) {
    if (path != "-") check_file(path);
  }
  for (const std::string& path : paths) files.push_back(is_stream(path) ? kept(path) : TableFile{path, path});
}

InputFiles::~InputFiles() {
  for (std::FILE* copy : copies_) std::fclose(copy);
}

TableFile InputFiles::kept(const std::string& path) {
  const auto fail = [&](const char* why) {
    throw IoError("file.write", cat("cannot keep ", source_name(path), " in a file: ", why));
  };
  const std::unique_ptr<ByteSource> named = path == "-" ? nullptr : open_bytes(path);
  std::FILE* const copy = std::tmpfile();
  if (!copy) fail("no temporary file");
  copies_.push_back(copy);
  char part[1 << 16];
  for (size_t count = sizeof part; count == sizeof part;) {
    count = named ? named->read(part, sizeof part)
                  : static_cast<size_t>(std::cin.read(part, sizeof part).gcount());
    if (std::fwrite(part, 1, count, copy) != count) fail("no room");
  }
  if (std::fflush(copy) != 0) fail("no room");
  return {cat("/proc/self/fd/", fileno(copy)), path == "-" ? source_name(path) : path};
}

void StatisticsFlags::add(CLI::App& verb) {
  add_table_reading(verb, table);
  verb.add_option("--missing", missing, "Words that mean a missing cell, comma-separated (default: none)")
      ->option_text("WORD,...");
  verb.add_option("--empty-cell", empty,
                  "Meaning of an empty cell: missing, or present as an empty list of values")
      ->check(one_of_words({"missing", "present"}))
      ->option_text("missing|present [missing]");
  verb.add_option("--weight", weight, "Sample-weight column")->option_text("COLUMN")->transform(a_column());
  verb.add_flag(
      "--semantic-domains", semantic_domains,
      "Detect columns whose values are times (texts in one format of dates, or numbers since 1970)");
}

std::vector<std::string> StatisticsFlags::words() const {
  std::vector<std::string> out = table.words();
  const auto add = [&](const char* flag, const std::string& value, const char* standard) {
    if (value != standard) out.insert(out.end(), {flag, value});
  };
  add("--missing", missing, "");
  add("--empty-cell", empty, "missing");
  add("--weight", weight, "");
  add("--slice", slice, "");
  add("--cross", cross, "");
  if (semantic_domains) out.emplace_back("--semantic-domains");
  return out;
}

void StatisticsFlags::check_unused(const TableFile& file) const {
  if (!words().empty())
    throw ValueError("stats.flags", cat(source_name(file.name),
                                        " is no table, and flags were given that say how tables are read"));
}

bool holds_messages(const TableFile& file) {
  for (const char* ending : {".pb", ".pbtxt", ".pb.gz", ".pbtxt.gz"}) {
    if (file.path.ends_with(ending)) return true;
  }
  std::string first(1 << 12, '\0');
  first.resize(open_unpacked(file.path)->read(first.data(), first.size()));
  if (is_records(first)) {
    try {
      return !is_sketch_file(file.path) && table_form(file.path) != TableForm::kExamples;
    } catch (const FormatError& error) {
      throw FormatError(error.rule(), cat(source_name(file.name), ": ", error.message()), error.fix());
    }
  }
  // The first field of a message; its length and the fields in it are no text.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && !std::isspace(c); };
  return (first.starts_with('\n') && std::ranges::any_of(first, is_control)) || begins_with_field(first);
}

TableStatistics measure(const StatisticsFlags& flags, const std::vector<TableFile>& files) {
  const auto sketches =
      std::ranges::count_if(files, [](const TableFile& file) { return is_sketch_file(file.path); });
  if (sketches > 0 && static_cast<size_t>(sketches) < files.size())
    throw ValueError("stats.files", "sketches are merged with sketches alone",
                     "write one of the tables too, with --sketch FILE");
  if (sketches > 0) flags.check_unused(files[0]);
  TableStatistics out = sketches > 0 ? merged_sketches(files) : read_tables(flags, files);
  for (const std::string& note : out.notes()) std::fputs(cat("note: ", note, "\n").c_str(), stderr);
  std::string names;
  for (const TableFile& file : files) names += cat(names.empty() ? "" : ", ", source_name(file.name));
  std::fputs(cat(out.rows(), " rows read of ", names, "\n").c_str(), stderr);
  if (const uint64_t broken = out.broken_texts(); broken > 0) {
    std::fputs(cat("warning: ", broken, broken == 1 ? " text is" : " texts are",
                   " no UTF-8 and without a domain; `iconv -f WINDOWS-1252 -t UTF-8` writes them anew, if "
                   "that is what they are\n")
                   .c_str(),
               stderr);
  }
  return out;
}

tfmd::DatasetFeatureStatisticsList statistics_in(const StatisticsFlags& flags, const TableFile& file) {
  return holds_messages(file) ? message_in<tfmd::DatasetFeatureStatisticsList>(file)
                              : measure(flags, {file}).list();
}

}  // namespace espalier::cli
