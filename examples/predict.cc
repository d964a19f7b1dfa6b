// What a model of `espalier train` says of raw rows. usage: example_predict MODEL CSV
#include <iomanip>
#include <iostream>

#include <espalier/espalier.h>

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: predict MODEL CSV");
  const auto model = espalier::TableModel::load(argv[1]);
  const auto said = model.predict(espalier::read_csv(argv[2], {.expected = model.columns().column_names()}));
  for (const std::string& warning : said.warnings) std::cerr << warning << "\n";
  const bool classes = model.columns().classification();
  std::cout << std::setprecision(9)
            << (classes ? "prediction,probability\n" : "prediction\n");  // all of an f32
  for (const espalier::TablePrediction& row : said.rows) {
    if (classes) std::cout << std::quoted(row.said, '"', '"') << "," << row.probability << "\n";
    if (!classes) std::cout << row.value << "\n";
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
