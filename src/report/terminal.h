// What the place can show that text is written to, and how wide text is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

enum class Ink : uint8_t { kPlain, kBold, kDim, kGood, kBad };

struct Terminal {
  bool colors = false;       // 256 colours by escape sequences
  bool interactive = false;  // a line can be overwritten
  bool bounded = false;      // lines longer than `columns` would break
  int columns = 80;

  // The terminal behind a file descriptor. No colours when NO_COLOR is set (to anything but ""), for
  // TERM=dumb, or when it is no terminal or one of mpirun. Lines of what is none may have any length unless
  // COLUMNS is set.
  static Terminal of(int descriptor);

  // `text` in that ink; unchanged without colours.
  std::string paint(Ink ink, std::string_view text) const;
  // Two columns of the colour "#825c43" by the sequence of 24-bit colours; "" without colours. REQUIRES: such
  // a text.
  std::string swatch(std::string_view hex) const;
};

// A process whose output another one passes on to a terminal, as `espalier launch` does that of rank 0, is
// told of it by this variable: a text for each such pipe, one behind the other. Empty for what is no
// terminal.
inline constexpr const char* kTerminalBehind = "ESPALIER_TERMINAL";
std::string terminal_behind(int pipe, int terminal);

// Columns that UTF-8 text takes: wide characters two, combining ones and escape sequences none.
int display_width(std::string_view text);
// The longest beginning that fits into `columns`, ending in "..." when something was cut.
std::string fit_width(std::string_view text, int columns);
// Lines of at most `columns`, broken at blanks, and within words that are longer; one at least.
std::vector<std::string> wrapped(std::string_view text, int columns);
// Blocks of lines beside each other, top-aligned, `gap` columns apart. Every line ends in a newline.
std::string beside(const std::vector<std::string>& blocks, int gap = 2);

}  // namespace espalier
