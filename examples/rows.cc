// What a server asks of one row before a model sees it. usage: example_rows SCHEMA NAME=VALUE...
#include <iostream>
#include <stdexcept>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("usage: rows SCHEMA NAME=VALUE...");
  std::vector<std::string> names;
  std::vector<std::string_view> values;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    const size_t equals = std::min(word.find('='), word.size() - 1);
    names.emplace_back(word.substr(0, equals));
    values.push_back(word.substr(equals + 1));
  }
  const RowGuard guard = RowGuard::load(argv[1], names);  // once, for all rows

  const RowVerdict verdict = guard.judge(values);
  std::cout << name(verdict.outcome) << "\n";
  for (const RowFault& fault : verdict.faults) std::cout << fault.column << ": " << fault.text << "\n";
  for (size_t i = 0; i < verdict.values.size(); ++i)
    std::cout << names[i] << "=" << verdict.values[i] << "\n";
  return verdict.outcome == RowOutcome::kGood || verdict.outcome == RowOutcome::kReplaced ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
