#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/shortest.h"
#include "format/expression.h"

namespace espalier {
namespace {

struct Person {
  std::optional<double> x, y;
  std::optional<std::string> s;
};

// An expression as text, and what it means for one row, by optionals.
template <class T>
struct Pair {
  std::string text;
  std::function<std::optional<T>(const Person&)> value;
};

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  Pair<bool> condition(int depth) {
    switch (depth > 0 ? below(9) : 3 + below(5)) {
      case 0:
        return both(" and ", depth, false);
      case 1:
        return both(" or ", depth, true);
      case 2: {
        const Pair<bool> of = condition(depth - 1);
        return {cat("not (", of.text, ")"), [of](const Person& row) {
                  const auto value = of.value(row);
                  return value ? std::optional<bool>(!*value) : std::nullopt;
                }};
      }
      case 3:
        return compared(number(depth - 1), number(depth - 1));
      case 4:
        return compared(text(), text());
      case 5:
        return in_list();
      case 6:
        return between(depth);
      case 7: {
        const bool no = below(2);
        const Pair<double> of = number(depth - 1);
        return {cat("(", of.text, ") is ", no ? "not " : "", "missing"),
                [of, no](const Person& row) { return std::optional<bool>(of.value(row).has_value() == no); }};
      }
      default: {
        const Pair<bool> a = condition(depth - 1), b = condition(depth - 1);
        return {cat("(", a.text, ") = (", b.text, ")"), [a, b](const Person& row) {
                  const auto x = a.value(row), y = b.value(row);
                  return x && y ? std::optional<bool>(*x == *y) : std::nullopt;
                }};
      }
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  // The value that decides wins; else one that is missing.
  Pair<bool> both(const char* word, int depth, bool decides) {
    const Pair<bool> a = condition(depth - 1), b = condition(depth - 1);
    return {cat("(", a.text, ")", word, "(", b.text, ")"),
            [a, b, decides](const Person& row) -> std::optional<bool> {
              const auto x = a.value(row), y = b.value(row);
              if (x == decides || y == decides) return decides;
              if (!x || !y) return std::nullopt;
              return !decides;
            }};
  }
  template <class T>
  Pair<bool> compared(Pair<T> a, Pair<T> b) {
    static const std::vector<std::string> signs = {"=", "!=", "<", "<=", ">", ">="};
    const auto sign = static_cast<size_t>(below(6));
    return {cat(a.text, " ", signs[sign], " ", b.text),
            [a, b, sign](const Person& row) -> std::optional<bool> {
              const auto x = a.value(row), y = b.value(row);
              if (!x || !y) return std::nullopt;
              const bool all[] = {*x == *y, *x != *y, *x<*y, *x <= *y, *x> * y, *x >= *y};
              return all[sign];
            }};
  }
  Pair<bool> in_list() {
    const bool no = below(2);
    return {cat("s ", no ? "not " : "", "in [\"a\", \"bb\"]"),
            [no](const Person& row) -> std::optional<bool> {
              if (!row.s) return std::nullopt;
              return (*row.s == "a" || *row.s == "bb") != no;
            }};
  }
  Pair<bool> between(int depth) {
    const Pair<double> of = number(depth - 1), low = number(0), high = number(0);
    return {cat(of.text, " between ", low.text, " and ", high.text),
            [=](const Person& row) -> std::optional<bool> {
              const auto x = of.value(row), a = low.value(row), b = high.value(row);
              if ((x && a && *x < *a) || (x && b && *x > *b)) return false;
              return x && a && b ? std::optional<bool>(true) : std::nullopt;
            }};
  }
  Pair<double> number(int depth) {
    switch (depth > 0 ? below(7) : below(3)) {
      case 0:
        return {"x", [](const Person& row) { return row.x; }};
      case 1:
        return {"`the y`", [](const Person& row) { return row.y; }};
      case 2: {
        const double value = below(9) - 4;
        return {shortest(value), [value](const Person&) { return std::optional<double>(value); }};
      }
      case 3: {
        const Pair<double> of = number(depth - 1);
        return {cat("abs(", of.text, ")"), [of](const Person& row) {
                  const auto value = of.value(row);
                  return value ? std::optional<double>(std::abs(*value)) : std::nullopt;
                }};
      }
      case 4:
        return {"len(s)", [](const Person& row) {
                  return row.s ? std::optional<double>(static_cast<double>(row.s->size())) : std::nullopt;
                }};
      case 5: {
        const Pair<double> a = number(depth - 1), b = number(depth - 1);
        return {cat("coalesce(", a.text, ", ", b.text, ")"), [a, b](const Person& row) {
                  const auto value = a.value(row);
                  return value ? value : b.value(row);
                }};
      }
      default: {
        const Pair<double> a = number(depth - 1), b = number(depth - 1);
        const auto sign = static_cast<size_t>(below(4));
        return {cat("(", a.text, ") ", std::string(1, "+-*/"[sign]), " (", b.text, ")"),
                [a, b, sign](const Person& row) -> std::optional<double> {
                  const auto x = a.value(row), y = b.value(row);
                  if (!x || !y || (sign == 3 && *y == 0)) return std::nullopt;
                  const double all[] = {*x + *y, *x - *y, *x * *y, *y == 0 ? 0 : *x / *y};
                  return all[sign];
                }};
      }
    }
  }
  Pair<std::string> text() {
    if (below(2)) return {"s", [](const Person& row) { return row.s; }};
    return {"'bb'", [](const Person&) { return std::optional<std::string>("bb"); }};
  }

  std::mt19937_64 random_;
};

// More rows than are computed at a time.
std::vector<Person> crowd() {
  std::mt19937_64 random(7);
  std::vector<Person> out(5000);
  const std::vector<std::string> words = {"a", "bb", "ccc"};
  for (Person& row : out) {
    if (random() % 4) row.x = static_cast<double>(random() % 9) - 4;
    if (random() % 4) row.y = static_cast<double>(random() % 8) / 2;
    if (random() % 4) row.s = words[random() % 3];
  }
  return out;
}

TEST(ExpressionOracle, EveryRowIsWhatItIsByItself) {
  const std::vector<Person> people = crowd();
  std::string csv = "x,the y,s\n";
  for (const Person& row : people)
    csv += cat(row.x ? shortest(*row.x) : "?", ",", row.y ? shortest(*row.y) : "", ",", row.s.value_or("?"),
               "\n");
  const CsvTable table = parse_csv(csv, {.delimiter = ',', .header = CsvHeader::kYes});
  const auto is_missing = [](std::string_view cell, const std::string&) {
    return cell.empty() || cell == "?";
  };
  int of_each[3] = {};
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Pair<bool> condition = Writer(seed).condition(4);
    const Expression expression(condition.text), again(expression.canonical());
    EXPECT_EQ(again.canonical(), expression.canonical()) << condition.text;
    const std::vector<Truth> found = truths(expression, table, is_missing);
    EXPECT_EQ(truths(again, table, is_missing), found) << condition.text;
    ASSERT_EQ(found.size(), people.size());
    for (size_t row = 0; row < people.size(); ++row) {
      const auto wanted = condition.value(people[row]);
      const Truth truth = !wanted ? Truth::kMissing : *wanted ? Truth::kTrue : Truth::kFalse;
      ASSERT_EQ(found[row], truth) << condition.text << " in row " << row;
      ++of_each[static_cast<size_t>(truth)];
    }
  }
  for (const int count : of_each) EXPECT_GT(count, 50000);
}

}  // namespace
}  // namespace espalier
