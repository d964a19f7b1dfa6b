#include "fairness/rare_texts.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

// Of 12 rows each: Ann of Oslo, Bob of Bonn; of two Eve of Ulm, whose word for a city Ann has as a name.
CsvTable named_people() {
  std::string out = "name,city,day,age\n";
  for (int i = 0; i < 12; ++i)
    out += "Ann,Oslo,2024-01-01,30\nBob,Bonn,2024-02-01,40\nUlm,Bonn,2024-02-01,50\n";
  return parse_csv(out + "Eve,Ulm,2024-03-01,60\nEve,Ulm,2024-03-01,60\n", {.header = CsvHeader::kYes});
}

TEST(RareTexts, StandAsRare) {
  const CsvTable table = named_people();
  const auto said = [&](const std::string& text) { return without_rare_texts(Expression(text), table, 10); };
  EXPECT_EQ(said("name!='Eve'"), "name != \"(rare)\"");
  EXPECT_EQ(said("'Eve' = name or name = 'Ann'"), "\"(rare)\" = name or name = \"Ann\"");
  EXPECT_EQ(said("not (name in ['Ann', 'Eve', 'Nobody'])"), "name not in [\"Ann\", \"(rare)\", \"(rare)\"]");
  EXPECT_EQ(said("name = 'Ulm' and city = 'Ulm'"), "name = \"Ulm\" and city = \"(rare)\"") << "by column";
  EXPECT_EQ(said("starts_with(name, 'Ev') or lower(name) = 'eve'"),
            "starts_with(name, \"(rare)\") or lower(name) = \"(rare)\"");
  EXPECT_EQ(said("name >= 'Eve'"), "name >= \"(rare)\"");
  EXPECT_EQ(without_rare_texts(Expression("name = 'Eve'"), table, 2), "name = \"Eve\"");
}

TEST(RareTexts, BoundsOfDatesAndNumbersStay) {
  const CsvTable table = named_people();
  for (const char* text : {"day >= \"2024-02-15\"", "day between \"2024-01-05\" and \"2024-03-01\"",
                           "age > 59", "day = \"2024-01-01\""})
    EXPECT_EQ(without_rare_texts(Expression(text), table, 10), text);
  EXPECT_EQ(without_rare_texts(Expression("day = '2024-03-01'"), table, 10), "day = \"(rare)\"");
}

}  // namespace
}  // namespace espalier
