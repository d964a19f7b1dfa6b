// What a model of `espalier train` says of raw rows. usage: example_predict MODEL CSV
#include <iomanip>
#include <iostream>
#include <stdexcept>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: predict MODEL CSV");
  LoadedModel model = load_model(argv[1]);
  const ColumnProgram columns = ColumnProgram::from_json(model.file("columns.json"));
  const CsvTable rows = read_csv(argv[2], {.expected = columns.column_names()});

  ColumnReport report;
  const Tensor inputs = columns.inputs(rows, {}, &report);
  for (const ColumnReport::Column& column : report.columns) {
    if (column.unreadable + column.other + column.beyond == 0) continue;
    std::cerr << column.name << ": of " << report.rows << " rows " << column.unreadable << " unreadable, "
              << column.other << " of another category, " << column.beyond << " beyond those of training\n";
  }

  std::cout << std::setprecision(9);  // all that an f32 holds
  const Tensor outputs = convert(model.predict(inputs), DType::kF32);
  if (columns.classification()) {
    const std::vector<std::string> classes = columns.classes();
    const Decision decision = Decision::from_json(model.file("decision.json"), classes);
    const auto probabilities = softmax(outputs, 1).to_vector<float>();
    const std::vector<int64_t> said = decision(probabilities, classes.size());
    std::cout << "prediction,probability\n";
    for (size_t i = 0; i < said.size(); ++i) {
      const auto best = static_cast<size_t>(said[i]);
      std::cout << std::quoted(classes[best], '"', '"') << "," << probabilities[i * classes.size() + best]
                << "\n";
    }
  } else {
    std::cout << "prediction\n";
    for (const double value : columns.predicted_values(outputs.to_vector<float>()))
      std::cout << value << "\n";
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
