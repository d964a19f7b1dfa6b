// Names as flags, gates and slices list them: age,sex; "age, years",sex; "a*b"*sex; "a=b"=x. In quotes a name
// holds any sign, a quote doubled: "say ""yes""".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// In quotes, those inside doubled.
std::string quoted_text(std::string_view text, char quote = '"');
// The text in the quotes that begin at `at`, which then stands behind them; nothing where they do not end. A
// quote that is not doubled ends them where `ends` says so of its place, which is everywhere by itself.
std::optional<std::string> read_quoted(std::string_view text, size_t& at,
                                       const std::function<bool(size_t)>& ends = {});

// A name where lists part their words: as it is, or in quotes where it holds one of , = * : or a quote, has
// blanks at its ends, or is nothing.
std::string name_in_list(std::string_view name);
std::string names_in_list(const std::vector<std::string>& names, std::string_view between = ",");

// The parts of a list between separators outside of quotes, as they stand there but for the blanks around
// them. Quotes, " or `, begin a part, or follow one of the signs above; one inside that is not doubled ends
// them before such a sign and at the end alone, so that a name may be copied from a message. Raises
// ValueError[names.quote] for those that do not end.
std::vector<std::string> listed_parts(std::string_view list, char separator = ',');
// The name that a part is. Raises ValueError[names.quote] for text behind its quotes.
std::string name_of_part(std::string_view part);
std::vector<std::string> names_listed(std::string_view list, char separator = ',');
// A name by itself, which needs no quotes: without those around the whole of it, if there are some.
std::string name_alone(std::string_view text);

// "NAME=rest": the name, and all behind the first sign outside of its quotes; nothing without a sign.
struct NamedPart {
  std::string name, rest;
};
std::optional<NamedPart> named_part(std::string_view part, char sign = '=');

}  // namespace espalier
