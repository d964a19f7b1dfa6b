#include "cli/table_data.h"

namespace espalier::cli {

void TableFlags::add(CLI::App& verb) {
  verb.add_option("--delimiter", delimiter, "Character between cells (default: guessed)")->option_text("C");
  verb.add_option("--header", header, "Read column names from the first line: yes, no, or guess")
      ->check(one_of_words({"guess", "yes", "no"}))
      ->option_text("guess|yes|no [guess]");
  verb.add_option_function<std::string>(
          "--names", [this](const std::string& text) { names = comma_separated({text}); },
          "Column names, for a file without a header line")
      ->option_text("A,B,...");
  verb.add_option("--decimal", decimal,
                  "The decimal sign of numbers; the other of the two stands between thousands")
      ->check(one_of_words({"guess", ".", ","}))
      ->option_text("guess|.|, [guess]");
}

CsvTable TableFlags::read(const std::string& path, const std::vector<std::string>& expected) const {
  return TableReading::read(path, expected, Results());
}

}  // namespace espalier::cli
