// The verbs of `espalier data`, one file each, and what they share.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/common.h"
#include "data/missing_words.h"
#include "espalier/csv.h"
#include "evaluate/not_compared.h"
#include "report/terminal.h"
#include "validate/message_json.h"
#include "validate/metadata_files.h"

namespace espalier::cli {

void add_data_schema(CLI::App& data);
void add_data_stats(CLI::App& data);
void add_data_validate(CLI::App& data);
void add_data_drift(CLI::App& data);
void add_data_skew(CLI::App& data);
void add_data_leak(CLI::App& data);
void add_data_bias(CLI::App& data);
void add_data_split(CLI::App& data);
void add_data_check(CLI::App& data);

// Warns of dates in the column that may have the day or the month first.
void warn_of_dates(const Results& results, const CsvTable& table, const std::string& column,
                   const MissingWords& missing);
// Warns of a time of other numbers in a table alone: there no other column is held against it. `newer`: what
// names the rows that would be.
void warn_of_no_dates(const Results& results, const CsvTable& table, const std::string& column,
                      const MissingWords& missing, const char* newer);

// How a message is written.
struct MessageResults {
  Results results;
  bool show = false;

  // --json, --out and --show.
  void add(CLI::App& verb);
  // As JSON with the fields of `about`, converted into the file of --out, or as a table. `what` is the verb
  // below `data`, and the message's field in JSON.
  template <class Message>
  void write(const std::string& what, nlohmann::ordered_json about, const Message& message,
             std::string (*table)(const Message&, const Terminal&)) const {
    if (results.json) {
      about[what] = json_of_message(message);
      return results.write_json(cat("data ", what), about);
    }
    if (results.out != "-") results.write(metadata_bytes(message, metadata_form(results.out)));
    results.say_written();
    if (results.out == "-" || show) Results().write(table(message, Terminal::of(STDOUT_FILENO)));
  }
};

}  // namespace espalier::cli
