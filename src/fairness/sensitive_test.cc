#include "fairness/sensitive.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(LikelySensitive, GoesByTheWordsOfAName) {
  for (const char* name :
       {"sex", "Sex", "SEX", "age", "native-country", "native.country", "applicantSex", "person_gender",
        "marital status", "race_ethnicity", "Age (years)", "Geschlecht", "sexe", "alter_in_jahren"})
    EXPECT_TRUE(likely_sensitive(name)) << name;
  for (const char* name : {"", "fare", "average", "sexton", "trace", "page", "mileage", "who", "class", "42",
                           "language_model_score_x", "stage"}) {
    EXPECT_EQ(likely_sensitive(name), std::string_view(name).starts_with("language")) << name;
  }
}

TEST(LikelySensitive, SomeValuesTellOfAColumnWithoutAName) {
  for (const char* value : {"Female", "male", "WOMAN", "weiblich", "Femme"})
    EXPECT_TRUE(tells_who(value)) << value;
  for (const char* value : {"", "f", "malefactor", "Isle of Man", "1"})
    EXPECT_FALSE(tells_who(value)) << value;
}

}  // namespace
}  // namespace espalier
