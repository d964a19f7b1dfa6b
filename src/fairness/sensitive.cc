#include "fairness/sensitive.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace espalier {
namespace {

// The grounds of the EU Charter of Fundamental Rights, article 21, and of United States civil rights law, in
// the words that columns have.
constexpr std::array<std::string_view, 40> kWords = {
    "sex", "gender", "race", "ethnicity", "ethnic", "age", "religion", "disability", "disabled",
    "nationality", "veteran", "marital", "pregnant", "pregnancy", "orientation", "native", "citizenship",
    "birthplace", "language", "immigrant", "minority", "skin", "tribe", "caste", "handicap", "ancestry",
    // German, French, Spanish, Italian.
    "geschlecht", "alter", "herkunft", "behinderung", "familienstand", "sexe", "origine", "sexo", "edad",
    "raza", "genero", "sesso", "razza", "etnia"};

constexpr std::array<std::string_view, 15> kPeople = {"female", "male",     "woman",  "man",   "women",
                                                      "men",    "weiblich", "frau",   "mann",  "femme",
                                                      "homme",  "mujer",    "hombre", "donna", "uomo"};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  bool lower_before = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (!std::isalpha(letter) || (std::isupper(letter) && lower_before)) out.emplace_back();
    if (std::isalpha(letter)) out.back() += static_cast<char>(std::tolower(letter));
    lower_before = std::islower(letter) != 0;
  }
  return out;
}

}  // namespace

bool likely_sensitive(std::string_view column) {
  return std::ranges::any_of(words_of(column),
                             [](const std::string& word) { return std::ranges::count(kWords, word) > 0; });
}

bool tells_who(std::string_view value) {
  const std::vector<std::string> words = words_of(value);
  return words.size() == 1 && std::ranges::count(kPeople, words[0]) > 0;
}

}  // namespace espalier
