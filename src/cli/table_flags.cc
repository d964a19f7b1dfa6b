#include "cli/table_flags.h"

#include "cli/common.h"
#include "tables/table_reading.h"

namespace espalier::cli {

void add_table_reading(CLI::App& verb, TableReading& reading) {
  verb.add_option("--delimiter", reading.delimiter, "Character between cells (default: guessed)")
      ->option_text("C");
  verb.add_option("--header", reading.header, "Read column names from the first line: yes, no, or guess")
      ->check(one_of_words({"guess", "yes", "no"}))
      ->option_text("guess|yes|no [guess]");
  verb.add_option_function<std::string>(
          "--names", [&reading](const std::string& text) { reading.names = comma_separated({text}); },
          "Column names, for a file without a header line")
      ->option_text("A,B,...");
  verb.add_option("--decimal", reading.decimal,
                  "The decimal sign of numbers; the other of the two stands between thousands")
      ->check(one_of_words({"guess", ".", ","}))
      ->option_text("guess|.|, [guess]");
}

CLI::Option* add_positive(CLI::App& verb, std::string& positive) {
  return verb
      .add_option(
          "--positive", positive,
          "With --threshold: the positive class. Default: the favourable label of --schema, else that "
          "of the model, else that of a known pair (yes of yes/no, 1 of 1/0)")
      ->option_text("VALUE");
}

CLI::Option* add_threshold(CLI::App& verb, std::optional<double>& threshold) {
  return verb
      .add_option("--threshold", threshold,
                  "Two classes: predict the positive class at this probability or above (default: the "
                  "threshold of the model, if it has one, else predict the more likely class)")
      ->check(number_from(0.0, 1.0))
      ->option_text("X");
}

void add_all_rows(CLI::App& verb, bool& all) {
  verb.add_flag(
      "--all-rows", all,
      "If DATA is the training file of the model: use all of its rows (default: only those that were held "
      "out as test rows)");
}

}  // namespace espalier::cli
