// Texts that look the same, by Unicode.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// What texts have in common that people take for one: composed and decomposed letters (Unicode's NFC),
// capitals of every script (its case folding), full-width and half-width forms, ligatures, blanks of every
// width; nothing stands for soft hyphens and other characters that are not shown. Not so superscripts,
// fractions and circled numbers: m² is not m2. Other bytes than UTF-8 keep all but the capitals A to Z.
std::string look_alike_key(std::string_view text);
// The same without folding capitals.
std::string look_alike_form(std::string_view text);

}  // namespace espalier
