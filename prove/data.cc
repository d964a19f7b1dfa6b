// Faults planted in tables are found, and the first sentence says where; clean tables raise few alarms.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "gate/data_faults.h"
#include "table.h"

namespace espalier::prove {
namespace {

// Orders of a shop: rows of cells under these names.
using Row = std::vector<std::string>;
enum Column : size_t { kPlaced, kSettled, kGroup, kCity, kAge, kIncome, kSize, kItems, kLate, kColumns };
const Row kNames = {"placed", "settled", "sex", "city", "age", "income", "size", "items", "late"};
constexpr size_t kTrain = 2000, kNow = 1000;

struct Tables {
  Row names = kNames, names_now = kNames;
  std::vector<Row> train, now;
  Philox random;
  std::string time = {};  // for time travel
};

std::string date(size_t day) {
  const auto two = [](size_t number) { return cat(number < 10 ? "0" : "", number); };
  return cat(2031 + day / 336, "-", two(1 + day % 336 / 28), "-", two(1 + day % 28));
}

Row order(Philox& random, size_t number) {
  double income = 0;
  for (int i = 0; i < 6; ++i) income += static_cast<double>(random.uniform());
  const char* cities[] = {"Aarhus", "Bergen", "Cadiz", "Delft", "Evora"};
  const size_t day = number / 4;
  const double size = static_cast<double>(random.uniform());
  return {date(day),
          date(day - std::min<size_t>(day, random.below(9))),
          random.below(2) ? "F" : "M",
          cities[random.below(5)],
          cat(18 + random.below(60)),
          cat(std::round(10000 * income) / 10 + 500),
          cat(std::round(1e5 * size) / 1e3),
          cat(1 + random.below(9)),
          random.below(100) < (size > 0.5 ? 45 : 15) ? "yes" : "no"};
}

Tables clean(uint64_t seed) {
  Tables out{.train = {}, .now = {}, .random = Philox(seed)};
  for (size_t i = 0; i < kTrain + kNow; ++i)
    (i < kTrain ? out.train : out.now).push_back(order(out.random, i));
  return out;
}

CsvTable parsed(const Row& names, const std::vector<Row>& rows) {
  std::string text;
  const auto add = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) text += cat(i ? "," : "", row[i]);
    text += "\n";
  };
  add(names);
  for (const Row& row : rows) add(row);
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
}

std::vector<DataFault> faults_of(const Tables& tables) {
  const CsvTable train = parsed(tables.names, tables.train), now = parsed(tables.names_now, tables.now);
  return find_data_faults(train, &now, {.label = "late", .time = tables.time, .groups = {"sex"}});
}

double number(const std::string& cell) { return std::stod(cell); }

struct Plant {
  std::string what;
  std::function<void(Tables&)> into;
  // What the first sentence has to name, one of these.
  std::vector<std::string> names;
};

// Of the new rows' cells, one in `every`.
std::function<void(Tables&)> cells(Column column, uint64_t every,
                                   const std::function<std::string(const std::string&)>& becomes) {
  return [=](Tables& tables) {
    for (Row& row : tables.now) {
      if (tables.random.below(every) == 0) row[column] = becomes(row[column]);
    }
  };
}
void without(Row& names, std::vector<Row>& rows, Column column) {
  names.erase(names.begin() + column);
  for (Row& row : rows) row.erase(row.begin() + column);
}

std::vector<Plant> value_faults() {
  const auto scaled = [](const std::string& cell) { return cat(1000 * number(cell)); };
  const auto comma = [](std::string cell) {
    std::ranges::replace(cell, '.', ',');
    return cat("\"", cell, "\"");
  };
  return {
      {"a unit, times 1000", cells(kIncome, 1, scaled), {"income"}},
      {"a unit, times 1000, in one row of fifty", cells(kIncome, 50, scaled), {"income"}},
      {"the sign of a number", cells(kSize, 1, [](auto& cell) { return "-" + cell; }), {"size"}},
      {"a category that nobody knew", cells(kCity, 40, [](auto&) { return "Faro"; }), {"city"}},
      {"a dot behind each label", cells(kLate, 1, [](auto& cell) { return cell + "."; }), {"late"}},
      {"small letters", cells(kCity, 20, [](auto&) { return "aarhus"; }), {"city"}},
      {"a column that became constant", cells(kAge, 1, [](auto&) { return "40"; }), {"age"}},
      {"words among numbers", cells(kItems, 50, [](auto&) { return "several"; }), {"items"}},
      {"decimal commas", cells(kSize, 1, comma), {"size"}},
      {"-999 for what is missing", cells(kAge, 20, [](auto&) { return "-999"; }), {"age"}},
      {"cells that went missing", cells(kIncome, 10, [](auto&) { return ""; }), {"income"}},
      {"labels turned round",
       cells(kLate, 1, [](auto& cell) { return cell == "yes" ? "no" : "yes"; }),
       {"late"}},
      {"a sensor that stands still",
       [](Tables& tables) {
         for (size_t i = kNow / 2; i < kNow; ++i) tables.now[i][kSize] = tables.now[kNow / 2][kSize];
       },
       {"size"}},
  };
}

std::vector<Plant> table_faults() {
  return {
      {"cells shifted to the right from some row on",
       [](Tables& tables) {
         for (size_t i = 3 * kNow / 4; i < kNow; ++i) {
           Row& row = tables.now[i];
           row.insert(row.begin() + kCity, "");
           row.pop_back();
         }
       },
       {"city", "age", "income", "size", "items", "late"}},
      {"two columns swapped",
       [](Tables& tables) {
         for (Row& row : tables.now) std::swap(row[kAge], row[kItems]);
       },
       {"age", "items"}},
      {"a column that is not there",
       [](Tables& tables) { without(tables.names_now, tables.now, kItems); },
       {"items"}},
      {"a column that is new",
       [](Tables& tables) {
         tables.names_now.emplace_back("tariff");
         for (Row& row : tables.now) row.emplace_back(tables.random.below(2) ? "a" : "b");
       },
       {"tariff"}},
      {"a header among the rows",
       [](Tables& tables) { tables.now[kNow / 2] = kNames; },
       {"placed", "settled", "sex", "city", "age", "income", "size", "items", "late"}},
      {"missing more often in one group",
       [](Tables& tables) {
         for (std::vector<Row>* rows : {&tables.train, &tables.now}) {
           for (Row& row : *rows) {
             if (row[kGroup] == "F" && tables.random.below(5) == 0) row[kIncome] = "";
           }
         }
       },
       {"income is missing"}},
  };
}

std::vector<Plant> leaks() {
  return {
      {"a block of rows that stands twice",
       [](Tables& tables) {
         for (size_t i = 0; i < 100; ++i) tables.train.push_back(tables.train[300 + i]);
       },
       {"rows 2001 to 2100 repeat rows 301 to 400"}},
      {"the label under another name",
       [](Tables& tables) {
         tables.names.emplace_back("fined");
         tables.names_now.emplace_back("fined");
         for (std::vector<Row>* rows : {&tables.train, &tables.now}) {
           for (Row& row : *rows) row.push_back(row[kLate] == "yes" ? "1" : "0");
         }
       },
       {"\"fined\" is the label"}},
      {"rows of the test that train",
       [](Tables& tables) {
         for (size_t i = 0; i < kNow / 10; ++i) tables.now[10 * i] = tables.train[7 * i];
       },
       {"rows of the test train too"}},
      {"what is known after the label",
       [](Tables& tables) {
         tables.time = "placed";
         for (size_t i = 0; i < kTrain; ++i) tables.train[i][kSettled] = date(i / 4 + 3);
         for (size_t i = 0; i < kNow; ++i) tables.now[i][kSettled] = date((kTrain + i) / 4 + 3);
       },
       {"\"settled\" lies after"}},
      {"a test from before the training ends",
       [](Tables& tables) {
         tables.time = "placed";
         for (size_t i = 0; i < kNow; ++i) std::swap(tables.now[i], tables.train[2 * i]);
       },
       {"\"placed\""}},
      {"a column that names the rows",
       [](Tables& tables) {
         tables.names.insert(tables.names.begin(), "order");
         tables.names_now.insert(tables.names_now.begin(), "order");
         size_t count = 100000;
         for (std::vector<Row>* rows : {&tables.train, &tables.now}) {
           for (Row& row : *rows) row.insert(row.begin(), cat("A", count++));
         }
       },
       {"\"order\""}},
  };
}

void run(Proofs& proofs) {
  constexpr int64_t kSeeds = 20, kMost = 100;
  std::vector<Plant> plants = value_faults();
  for (const auto& more : {table_faults(), leaks()}) plants.insert(plants.end(), more.begin(), more.end());
  int64_t kinds = 0;
  for (const Plant& plant : plants) {
    const int64_t found = seeds(kSeeds, [&](uint64_t seed) {
      Tables tables = clean(seed);
      plant.into(tables);
      const std::vector<DataFault> faults = faults_of(tables);
      if (!faults.empty() && seed == 0)
        std::fputs(cat(plant.what, ": ", faults[0].text, "\n").c_str(), stderr);
      return !faults.empty() && std::ranges::any_of(plant.names, [&](const std::string& name) {
        return faults[0].text.find(name) != std::string::npos;
      });
    });
    proofs.at_least("data", plant.what, found, kSeeds, kSeeds - 1);
    kinds += found >= kSeeds - 1;
  }
  const auto of = static_cast<int64_t>(plants.size());
  proofs.at_least("data", "kinds of faults found, the first sentence names them", kinds, of, of - 2);
  std::vector<int64_t> by(std::size(kFaultsOf));
  const int64_t alarms = seeds(kMost, [&](uint64_t seed) {
    const std::vector<DataFault> faults = faults_of(clean(1000 + seed));
    for (const DataFault& fault : faults) ++by[static_cast<size_t>(fault.of)];
    return !faults.empty();
  });
  for (size_t i = 0; i < by.size(); ++i)
    proofs.at_most("data", cat("clean tables: alarms by ", kFaultsOf[i]), by[i], kMost, 7);
  proofs.at_most("data", "clean tables with any alarm", alarms, kMost, 10);
}

}  // namespace
}  // namespace espalier::prove

int main(int argc, char** argv) { return espalier::prove::prove(argc, argv, espalier::prove::run); }
