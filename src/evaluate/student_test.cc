#include "evaluate/student.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/intervals.h"

namespace espalier {
namespace {

// Fisher and Yates, Statistical Tables; of one degree tan(pi level / 2), of two level sqrt(2 / (1 -
// level^2)).
TEST(Student, WidthsAreThoseOfTables) {
  EXPECT_NEAR(student_width(0.95, 19), 2.093024, 5e-7);
  EXPECT_NEAR(student_width(0.95, 4), 2.776445, 5e-7);
  EXPECT_NEAR(student_width(0.99, 30), 2.749996, 5e-7);
  EXPECT_NEAR(student_width(0.5, 1), 1, 1e-12);
  EXPECT_NEAR(student_width(0.95, 1), 12.706205, 5e-7);
  EXPECT_NEAR(student_width(0.9, 2), 2.919986, 5e-7);
  EXPECT_NEAR(student_width(0.95, 20001), normal_width(0.95), 2e-4);
  EXPECT_GT(student_width(0.95, 20001), normal_width(0.95));
}

TEST(Student, WidthsOfOneAndTwoDegreesAreTheirClosedFormsAtAllLevels) {
  for (const double level : {1e-6, 0.01, 0.5, 0.9, 0.999, 0.999999, 1 - 1e-9}) {
    EXPECT_NEAR(student_width(level, 1) / std::tan(std::numbers::pi * level / 2), 1, 1e-6) << level;
    EXPECT_NEAR(student_width(level, 2) / (level * std::sqrt(2 / (1 - level * level))), 1, 1e-6) << level;
  }
}

// Backwards through the same tables; of one degree 1 - 2 / pi atan t.
TEST(Student, ChancesAreThoseOfTables) {
  EXPECT_NEAR(student_p(2.093024, 19), 0.05, 1e-7);
  EXPECT_NEAR(student_p(-2.749996, 30), 0.01, 1e-7);
  EXPECT_NEAR(student_p(1, 1), 0.5, 1e-12);
  EXPECT_EQ(student_p(0, 7), 1);
}

TEST(Student, LevelsAndDegreesOfNoUseAreRefused) {
  for (const double level : {0.0, 1.0, -1.0})
    EXPECT_EQ(rule_of([&] { student_width(level, 19); }), "evaluate.level") << level;
  EXPECT_EQ(rule_of([] { student_width(0.95, 0); }), "evaluate.level");
  EXPECT_EQ(rule_of([] { student_p(1, 0); }), "evaluate.level");
}

}  // namespace
}  // namespace espalier
