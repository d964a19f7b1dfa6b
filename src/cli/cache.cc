// espalier cache: the compiled programs that are kept on disk.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "espalier/error.h"
#include "pjrt/program_cache.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

// In UTC, to the second: "2031-01-02T03:04:05Z".
std::string used_text(int64_t nanoseconds) {
  using namespace std::chrono;
  const sys_seconds time{floor<seconds>(std::chrono::nanoseconds(nanoseconds))};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<seconds> clock(time - day);
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return out;
}

std::string size_text(int64_t bytes) {
  constexpr int64_t kKi = 1024;
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB"};
  if (bytes < kKi) return cat(counted(bytes, "byte"));
  double value = static_cast<double>(bytes) / kKi;
  size_t unit = 0;
  for (; value >= kKi && unit + 1 < std::size(kUnits); ++unit) value /= kKi;
  return cat(fixed(value, 1), " ", kUnits[unit]);
}

std::string shown_folder(const pjrt::ProgramCache& cache) {
  std::error_code error;
  return cache.folder().empty() ? "" : std::filesystem::absolute(cache.folder(), error).string();
}

void list_cache(const Results& results) {
  const pjrt::ProgramCache cache = pjrt::ProgramCache::of_user();
  const std::string folder = shown_folder(cache), problem = cache.why_not_kept();
  const std::vector<pjrt::ProgramCache::Entry> entries = cache.entries();
  const bool usable = cache.why_not().empty() && (problem.empty() || !entries.empty());
  int64_t bytes = 0;
  double seconds = 0;
  for (const auto& entry : entries) {
    bytes += entry.bytes;
    seconds += entry.compile_seconds;
  }
  if (results.json) {
    nlohmann::ordered_json programs = nlohmann::ordered_json::array();
    for (const auto& entry : entries) {
      nlohmann::ordered_json line = {{"name", entry.name},
                                     {"program", entry.program},
                                     {"device", entry.device},
                                     {"bytes", entry.bytes},
                                     {"compile_seconds", entry.compile_seconds},
                                     {"used", used_text(entry.used)}};
      programs.push_back(std::move(line));
    }
    return results.write_json("cache", {{"folder", folder},
                                        {"usable", usable},
                                        {"writable", problem.empty()},
                                        {"problem", problem},
                                        {"bytes", bytes},
                                        {"cap_bytes", cache.cap()},
                                        {"programs", std::move(programs)}});
  }
  std::string text;
  if (!usable) {
    text = cat("compiled programs are not kept: ", printable(problem), "\n");
  } else {
    if (!entries.empty()) {
      constexpr size_t kDigits = 12;
      Table table({"name", "program", "device", "size", "compiled in", "last used"});
      for (const auto& entry : entries)
        table.row({entry.name.substr(0, kDigits), printable(entry.program), printable(entry.device),
                   size_text(entry.bytes), cat(fixed(entry.compile_seconds, 1), " s"),
                   used_text(entry.used)});
      text = cat(table.text(results.terminal()), "\n");
    }
    text += cat(counted(entries.size(), "program"), ", ", size_text(bytes), " of ", size_text(cache.cap()),
                entries.empty() ? "" : cat(", which took ", fixed(seconds, 1), " s to compile"), "\n",
                headed_line("folder", printable(folder)),
                problem.empty() ? "" : cat("no further programs are kept: ", printable(problem), "\n"));
  }
  results.write(text);
  results.suggest({"devices"});
}

void clear_cache(const Results& results) {
  const pjrt::ProgramCache cache = pjrt::ProgramCache::of_user();
  if (const std::string problem = cache.why_not(); !problem.empty())
    throw IoError("cache.folder", cat("compiled programs are not kept: ", problem));
  const pjrt::ProgramCache::Cleared cleared = cache.clear();
  if (results.json)
    return results.write_json(
        "cache clear",
        {{"folder", shown_folder(cache)}, {"programs", cleared.programs}, {"bytes", cleared.bytes}});
  results.write(cat("removed ", counted(cleared.programs, "program"), ", ", size_text(cleared.bytes),
                    ", from ", printable(shown_folder(cache)), "\n"));
  results.suggest({"cache"});
}

}  // namespace

void add_cache(CLI::App& app) {
  auto results = std::make_shared<Results>();
  CLI::App* verb = app.add_subcommand("cache", "List the compiled programs kept on disk");
  CLI::App* clear = verb->add_subcommand("clear", "Remove all compiled programs from disk");
  for (CLI::App* each : {verb, clear}) {
    results->add_json(*each);
    results->add_out(*each);
  }
  verb->footer(
      "Programs compiled for a device are kept on disk and loaded by the next run of\n"
      "the same program with the same plugin, device and flags. ESPALIER_CACHE names\n"
      "the folder (default: espalier in $XDG_CACHE_HOME, or ~/.cache/espalier);\n"
      "ESPALIER_CACHE=off keeps no programs. ESPALIER_CACHE_BYTES limits the size of\n"
      "the cache (default: 1073741824, which is 1 GiB): the least recently used\n"
      "programs are removed first.\n"
      "\n"
      "Examples:\n"
      "  espalier cache\n"
      "  espalier cache clear\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.\n");
  clear->footer("Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([verb, results] {
    if (verb->get_subcommands().empty()) list_cache(*results);
  });
  clear->callback([results] { clear_cache(*results); });
}

}  // namespace espalier::cli
