#include "format/look_alike.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(LookAlike, TextsThatLookTheSameHaveOneKey) {
  // By Unicode: the pairs of UAX 15 and CaseFolding.txt.
  const std::pair<const char*, const char*> same[] = {
      {"männlich", "ma\u0308nnlich"},  // composed and decomposed
      {"\u212b", "\u00c5"},            // ångström and the letter
      {"\uff21\uff22\uff11", "ab1"},   // full-width
      {"\uff76\uff9e", "\u30ac"},      // half-width katakana
      {"new\u00a0york", "New York"},   // a blank that does not break
      {"new\u2009york", "new york"},   // a thin one
      {"МУЖ", "муж"},                  // Cyrillic
      {"ΣΟΦΟΣ", "σοφος"},              // Greek
      {"Łódź", "łÓDŹ"},                // beyond Latin-1
      {"STRASSE", "straße"},           // by case folding
      {"\ufb01ne", "fine"},            // a ligature
      {"co\u00adop", "coop"},          // a soft hyphen
      {"Ｉｄ", "id"}};
  for (const auto& [a, b] : same) EXPECT_EQ(look_alike_key(a), look_alike_key(b)) << a << " " << b;
  const std::pair<const char*, const char*> others[] = {{"m²", "m2"}, {"½", "1/2"},    {"①", "1"}, {"a", "ä"},
                                                        {"o", "0"},   {"a", "\u0430"}, {"l", "1"}};
  for (const auto& [a, b] : others) EXPECT_NE(look_alike_key(a), look_alike_key(b)) << a << " " << b;
}

TEST(LookAlike, CapitalsStayInTheForm) {
  EXPECT_EQ(look_alike_form("Ma\u0308nner"), "Männer");
  EXPECT_NE(look_alike_form("MANN"), look_alike_form("mann"));
}

TEST(LookAlike, OtherBytesKeepAllButCapitals) {
  EXPECT_EQ(look_alike_key("M\xe4NN"), "m\xe4nn");
  EXPECT_EQ(look_alike_key(std::string("A\0\xffZ", 4)), std::string("a\0\xffz", 4));
  EXPECT_EQ(look_alike_key(""), "");
}

}  // namespace
}  // namespace espalier
