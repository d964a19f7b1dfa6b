// From the text of a table of numbers to f32: parsed into cells, and every cell converted; megabytes a second
// of one core's time. Prints a JSON line; exit 1 when a number is wrong. usage: bench_csv [MEGABYTES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <string>

#include "espalier/columns.h"
#include "format/csv_numbers.h"

using namespace espalier;

namespace {

constexpr int kColumns = 10, kRepeats = 5;

struct Numbers {
  std::string text;
  std::vector<float> values;
};

// Whole numbers, prices, measurements and coordinates, as tables hold them: up to 9 digits, up to 6 of them
// behind the point. A number of so few digits is the quotient of two exact doubles.
Numbers make_numbers(size_t bytes) {
  constexpr struct {
    int digits, decimals;
  } kKinds[kColumns] = {{2, 0}, {5, 0}, {6, 2}, {4, 2}, {7, 6}, {8, 6}, {3, 1}, {9, 4}, {1, 0}, {6, 3}};
  constexpr int64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
  std::mt19937_64 random(1);
  Numbers out;
  while (out.text.size() < bytes) {
    for (int c = 0; c < kColumns; ++c) {
      const auto [digits, decimals] = kKinds[c];
      const auto mantissa = static_cast<int64_t>(random() % static_cast<uint64_t>(kTens[digits]));
      const bool negative = c >= 4 && c < 8 && random() % 2;
      char cell[32];
      if (decimals) {
        std::snprintf(cell, sizeof cell, "%s%lld.%0*lld", negative ? "-" : "",
                      static_cast<long long>(mantissa / kTens[decimals]), decimals,
                      static_cast<long long>(mantissa % kTens[decimals]));
      } else {
        std::snprintf(cell, sizeof cell, "%s%lld", negative ? "-" : "", static_cast<long long>(mantissa));
      }
      const double value = static_cast<double>(mantissa) / static_cast<double>(kTens[decimals]);
      out.values.push_back(static_cast<float>(negative ? -value : value));
      out.text += cell;
      out.text += c + 1 < kColumns ? ',' : '\n';
    }
  }
  return out;
}

template <class F>
double best_seconds(F run) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const std::clock_t begin = std::clock();
    run();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int megabytes = argc > 1 ? std::atoi(argv[1]) : 64;
  if (megabytes < 1) {
    std::fprintf(stderr, "usage: bench_csv [MEGABYTES]\n");
    return 2;
  }
  const Numbers numbers = make_numbers(static_cast<size_t>(megabytes) << 20);
  const auto size = static_cast<double>(numbers.text.size());
  const Literal found = parse_csv_numbers(numbers.text);
  const auto* values = found.view().as<float>();
  if (found.type().elements() != static_cast<int64_t>(numbers.values.size()) ||
      !std::equal(numbers.values.begin(), numbers.values.end(), values)) {
    std::fprintf(stderr, "bench_csv: a number is wrong\n");
    return 1;
  }
  std::vector<std::string> texts(kRepeats, numbers.text);
  size_t next = 0;
  const double tensors = best_seconds([&] { parse_csv_numbers(std::move(texts[next++])); });
  texts.assign(kRepeats, numbers.text);
  next = 0;
  const double cells = best_seconds([&] { parse_csv(std::move(texts[next++])); });
  const CsvTable table = parse_csv(numbers.text);
  std::vector<int64_t> rows(1000);
  std::iota(rows.begin(), rows.end(), 0);
  const ColumnProgram program = ColumnProgram::fit(table, rows, {.label = "column_3"});
  const double inputs = best_seconds([&] { program.inputs(table); });
  std::printf(
      "{\"bench\": \"csv\", \"megabytes\": %.1f, \"rows\": %lld, \"columns\": %d, \"to_tensor_mb_per_s\": "
      "%.1f, "
      "\"to_cells_mb_per_s\": %.1f, \"with_column_program_mb_per_s\": %.1f}\n",
      size / 1e6, static_cast<long long>(table.rows()), kColumns, size / 1e6 / tensors, size / 1e6 / cells,
      size / 1e6 / (cells + inputs));
  return 0;
}
