// Columns that tell who a row is about.
#pragma once

#include <string_view>

namespace espalier {

// Whether a column of this name likely holds what people must not be treated unequally for (sex, race, age,
// religion, disability, origin, ...). The words of the name count, whatever its capitals and what parts them:
// "native-country", "applicantSex". A proposal for a person to confirm: names in English alone are known.
bool likely_sensitive(std::string_view column);
// Whether a value tells so of its column, whatever that is called: "Female", "male".
bool tells_who(std::string_view value);

}  // namespace espalier
