// Rows of 18 columns against their schema: nine of numbers, nine of categories; microseconds a row, of cells
// that are parted already, and of the text of a CSV. Prints a JSON line; exit 1 when a fault is overlooked or
// invented. usage: bench_row_validation [ROWS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "base/format.h"
#include "format/csv_blocks.h"
#include "validate/row_validator.h"

using namespace espalier;

namespace {

constexpr int kColumns = 18, kRepeats = 5;

tfmd::Schema make_schema() {
  std::string text = "string_domain { name: 'kinds' ";
  for (int i = 0; i < 40; ++i) text += cat("value: 'kind number ", i, "' ");
  text += "} ";
  for (int c = 0; c < kColumns; ++c) {
    const char* domain = c < 5   ? "type: INT int_domain { min: 0 max: 99999 }"
                         : c < 9 ? "type: FLOAT float_domain { min: -1e6 max: 1e6 disallow_nan: true }"
                                 : "type: BYTES domain: 'kinds'";
    text += cat("feature { name: 'c", c, "' presence { min_fraction: 1 min_count: 1 } ", domain, " } ");
  }
  tfmd::Schema out;
  parse_metadata(text, out);
  return out;
}

struct Rows {
  std::string text;
  int64_t faults = 0;
};

// One row in a hundred has a bad cell.
Rows make_rows(int64_t rows) {
  const std::string bad[3] = {"100000", "x", "kind number 40"};
  std::mt19937_64 random(1);
  Rows out{.text = "c0", .faults = (rows + 99) / 100};
  for (int c = 1; c < kColumns; ++c) out.text += cat(",c", c);
  out.text += '\n';
  for (int64_t row = 0; row < rows; ++row) {
    const int wrong = row % 100 == 0 ? static_cast<int>(random() % kColumns) : -1;
    for (int c = 0; c < kColumns; ++c) {
      char number[32];
      std::snprintf(number, sizeof number, "%.4f", static_cast<double>(random() % 1000000000) / 1e4 - 5e4);
      out.text += c == wrong ? bad[c < 5   ? 0
                                   : c < 9 ? 1
                                           : 2]
                  : c < 5    ? cat(random() % 100000)
                  : c < 9    ? std::string(number)
                             : cat("kind number ", random() % 40);
      out.text += c + 1 < kColumns ? ',' : '\n';
    }
  }
  return out;
}

class Text : public ByteSource {
 public:
  explicit Text(const std::string& text) : text_(text) {}
  size_t read(char* to, size_t size) override {
    const size_t count = text_.copy(to, size, at_);
    at_ += count;
    return count;
  }

 private:
  const std::string& text_;
  size_t at_ = 0;
};

// Microseconds of one core a row, the best of some runs, each of which finds `faults`; negative if not.
template <class F>
double microseconds(const Rows& rows, int64_t count, F run) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const std::clock_t begin = std::clock();
    if (run() != rows.faults) return -1;
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best / static_cast<double>(count) * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 100000;
  const Rows rows = make_rows(count);
  const tfmd::Schema schema = make_schema();
  const CsvOptions options{.delimiter = ',', .header = CsvHeader::kYes};
  const CsvTable table = parse_csv(rows.text, options);
  const RowValidator validator(schema, table.names(), {});
  std::vector<std::string_view> cells;
  for (int64_t row = 0; row < count; ++row) {
    for (int c = 0; c < kColumns; ++c) cells.push_back(table.cell(row, c));
  }
  std::vector<CellFault> faults;
  const double parted = microseconds(rows, count, [&] {
    faults.clear();
    for (int64_t row = 0; row < count; ++row)
      validator.check(std::span(cells).subspan(static_cast<size_t>(row * kColumns), kColumns), faults);
    return std::ssize(faults);
  });
  const double whole = microseconds(rows, count, [&] {
    faults.clear();
    CsvBlocks blocks(std::make_unique<Text>(rows.text), options);
    std::string_view row_cells[kColumns];
    for (CsvBlock block; blocks.next(block);) {
      const CsvRows block_rows(std::move(block), blocks);
      for (int64_t row = 0; row < block_rows.rows(); ++row) {
        for (int c = 0; c < kColumns; ++c) row_cells[c] = block_rows.cell(row, c);
        validator.check(row_cells, faults);
      }
    }
    return std::ssize(faults);
  });
  std::printf("{\"rows\": %lld, \"columns\": %d, \"parted_us_per_row\": %.3f, \"csv_us_per_row\": %.3f}\n",
              static_cast<long long>(count), kColumns, parted, whole);
  return parted < 0 || whole < 0 ? 1 : 0;
}
