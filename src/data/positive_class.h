// Which of two classes is the positive one, from which rates count, and what says so: one rule for models,
// files of scores, gates and tables. It is never derived from the evaluated rows: their shares change
// from one file to the next, and with them the meaning of every rate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

// What says it, in the order in which it counts.
enum class PositiveBecause {
  kNothing,
  kGates,   // the key `positive` of a file of gates
  kFlag,    // --positive
  kSchema,  // the favourable value of the label
  kModel,   // what a model keeps
  kPair,    // a known pair of labels, as yes and no
  kRarer,   // of other words the rarer one
};
// "gates", "flag", "schema", "model", "pair", "rarer"; "" of kNothing.
std::string_view name(PositiveBecause because);

struct PositiveClass {
  std::string value = {};  // "" where nothing says it
  PositiveBecause because = PositiveBecause::kNothing;
  std::string detail = {};  // of kModel why training chose it, of kRarer its share: "30 % of the rows"

  bool known() const { return !value.empty(); }
};
// "positive is paid=yes: yes and no are a known pair"; of `classes` where nothing is known.
std::string text_of(const PositiveClass& positive, const std::string& label,
                    const std::vector<std::string>& classes);

// What files and flags say of it; "" says nothing.
struct PositiveSaid {
  std::string gates = {}, flag = {}, schema = {}, model = {};
  std::string why_model = {};  // PositiveClass::detail
};

// Whether two labels are one: the same text, the same number (1 and 1.0), or 1 and true, 0 and false.
bool same_label(std::string_view a, std::string_view b);

// Of a known pair the positive one: 1/0, 1/-1, true/false, yes/no, y/n, t/f, ja/nein, oui/non, sí/no, si/no,
// да/нет, in any case. None of other labels: "t" beside "c" says nothing.
std::optional<std::string> positive_of_pair(const std::string& a, const std::string& b);
// The positive word of the pair that a label alone is of: of "no" it is "yes", of "yes" itself.
std::optional<std::string> positive_beside(const std::string& label);

// What is positive of `classes`, two or one that a file has alone: what the first of `said` names, else what
// a pair tells. Beside one class alone another may be named, which no row has: of a known pair the other
// word, of other labels any, but for a flag that is nearly that class, as a slip of the finger is. Raises
// ValueError: positive.differs where gates, flag and schema name different ones; gates.positive,
// positive.class, schema.favourable for one that is no class of two.
PositiveClass positive_class(const PositiveSaid& said, const std::vector<std::string>& classes);
// Of training rows: the same, else the rarer of two words whose share is at most kRarerShare.
PositiveClass positive_class(const PositiveSaid& said, const std::map<std::string, int64_t>& rows);
inline constexpr double kRarerShare = 0.4;

// "--positive a, or --positive b".
std::string positive_flags(const std::vector<std::string>& classes);
// Raises ValueError[positive.unknown]: nothing says which of the classes of `what` is positive, and `who`
// counts from one of them.
[[noreturn]] void throw_no_positive(const std::string& what, const std::vector<std::string>& classes,
                                    const std::string& who);

}  // namespace espalier
