#include "tables/learned_rows.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

constexpr const char* kHead = "age,height,city,paid\n";

// People of `ages` ages and as many heights.
std::vector<std::string> learned_people(int count, int ages, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    const auto age = random() % static_cast<unsigned>(ages), height = random() % static_cast<unsigned>(ages);
    out.push_back(cat(age, ",", height, random() % 2 ? ",Ulm," : ",Bonn,",
                      age + random() % 10 > static_cast<unsigned>(ages) / 2 ? "yes\n" : "no\n"));
  }
  return out;
}
std::string joined_rows(const std::vector<std::string>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::string(kHead));
}

struct LearnedRows : FolderTest {
  const std::string model = folder + "/model";

  std::string file(const std::string& name, const std::vector<std::string>& rows) const {
    return write_file(cat(folder, "/", name, ".csv"), joined_rows(rows));
  }
  void train(const std::vector<std::string>& rows, const std::string& epochs = "1") const {
    call_verb(add_train,
              {"--data", file("people", rows), "--label", "paid", "--model", model, "--epochs", epochs});
  }
  std::string warned(const std::vector<std::string>& rows) const {
    std::string said;
    call_verb(add_evaluate, {model, file("others", rows)}, "", &said);
    return said;
  }
};

constexpr const char* kTooGood = "what they say of it is too good";

TEST_F(LearnedRows, AreKnownInAnotherOrderAndWithCellsChanged) {
  const std::vector<std::string> rows = learned_people(600, 1000, 1);
  train(rows);
  std::vector<std::string> shuffled = rows;
  std::ranges::shuffle(shuffled, std::mt19937(3));
  const std::string said = warned(shuffled);
  EXPECT_NE(said.find("the model was trained on rows like 72 % of those of "), std::string::npos) << said;
  EXPECT_NE(said.find(kTooGood), std::string::npos) << said;
  std::vector<std::string> changed = rows;
  changed[17] = "-1,-1,Bonn,no\n";
  EXPECT_NE(warned(changed).find(kTooGood), std::string::npos);
  EXPECT_EQ(warned(learned_people(600, 1000, 2)).find(kTooGood), std::string::npos);
  // However numbers are written.
  std::vector<std::string> written = shuffled;
  for (std::string& row : written) row.insert(row.find(','), ".0");
  EXPECT_NE(warned(written).find(kTooGood), std::string::npos);
  // A part of the others is enough.
  std::vector<std::string> mixed = learned_people(600, 1000, 4);
  std::copy_n(shuffled.begin(), 300, mixed.begin());
  EXPECT_NE(warned(mixed).find(kTooGood), std::string::npos);
}

// Of larger tables a sample is kept.
TEST_F(LearnedRows, ASampleOfManyTellsTheShare) {
  const std::vector<std::string> rows = learned_people(20000, 100000, 5);
  train(rows);
  std::vector<std::string> mixed = learned_people(20000, 100000, 6);
  std::copy_n(rows.begin(), 10000, mixed.begin());
  const std::string said = warned(mixed);
  const std::string before = "trained on rows like ";
  const size_t at = said.find(before);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_NEAR(std::stoi(said.substr(at + before.size())), 36, 3) << said;  // 72 % of the half
}

// Where columns have few values, rows are alike by chance: no alarm, over many samples.
TEST_F(LearnedRows, OfFewValuesOthersAreAlikeByChance) {
  for (const int ages : {5, 20, 40}) {
    train(learned_people(600, ages, 7));
    for (unsigned seed = 100; seed < 140; ++seed)
      EXPECT_EQ(warned(learned_people(400, ages, seed)).find(kTooGood), std::string::npos)
          << ages << " " << seed;
  }
}

TEST_F(LearnedRows, WithoutAnEpochNoneIs) {
  const std::vector<std::string> rows = learned_people(300, 1000, 8);
  train(rows, "0");
  std::vector<std::string> shuffled = rows;
  std::ranges::reverse(shuffled);
  EXPECT_EQ(warned(shuffled).find(kTooGood), std::string::npos);
}

TEST_F(LearnedRows, AnotherTextIsRefused) {
  const std::vector<std::string> rows = learned_people(300, 1000, 9);
  train(rows);
  drop_checksums(model);
  write_file(model + "/learned.txt", "rows 1 to 9");
  EXPECT_EQ(rule_of([&] { warned(learned_people(300, 1000, 10)); }), "model.lineage");
}

}  // namespace
}  // namespace espalier::cli
