// A model of a table, from its rows to what it says of one. usage: example_table CSV LABEL [COLUMN]
#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("usage: table CSV LABEL [COLUMN]");
  const TableModel model = TableModel::train(argv[1], {.label = argv[2], .epochs = 5, .seed = 3});
  for (const auto& [name, figure] : model.test_figures()) std::cout << name << " " << figure << "\n";
  model.save("table_model");

  const CsvTable table = read_csv(argv[1]);
  const TablePrediction first = TableModel::load("table_model").predict(table).rows.at(0);
  std::cout << "the first row: " << first.said << " (" << first.probability << ")\n";
  if (argc > 3) std::cout << model.evaluate(table, {.slices = {argv[3]}}).text();
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
