// Whether new rows are as those before, and as a schema says. usage: example_validation TRAIN.csv NEW.csv
// SCHEMA.pbtxt The schema is written the first time, and then a person's to change.
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument("usage: validation TRAIN.csv NEW.csv SCHEMA.pbtxt");
  const DataStatistics train = DataStatistics::of_files({argv[1]});
  if (!std::filesystem::exists(argv[3])) DataSchema::infer(train).save(argv[3]);

  const DataFindings found =
      DataSchema::load(argv[3]).check(DataStatistics::of_files({argv[2]}), {.previous = train});
  std::cout << found.text();
  for (const DataAnomaly& anomaly : found.anomalies())
    std::cout << anomaly.feature << ": " << anomaly.description << "\n";
  return found.has_errors() ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
