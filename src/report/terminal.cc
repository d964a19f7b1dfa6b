#include "report/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace espalier {
namespace {

struct Range {
  uint32_t first, last;
};
constexpr Range kCombining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200f},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr Range kWideCharacters[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                     {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                     {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                     {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N>
bool in_any(const Range (&ranges)[N], uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

// One unit of text: a character or an escape sequence, with its bytes and columns.
struct Unit {
  size_t bytes;
  int columns;
};

Unit next_unit(std::string_view text) {
  if (text.starts_with("\x1b[")) {
    size_t end = 2;
    while (end < text.size() && !(text[end] >= '@' && text[end] <= '~')) ++end;
    return {std::min(end + 1, text.size()), 0};
  }
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) < 0xc0 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (length == 1 || length > text.size()) return {1, 1};
  uint32_t c = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {1, 1};
    c = c << 6 | (byte(i) & 0x3f);
  }
  return {length, in_any(kCombining, c) ? 0 : in_any(kWideCharacters, c) ? 2 : 1};
}

// Of the terminal that what is written to this pipe comes to; 0: nobody has said so.
int columns_behind(int descriptor) {
  const char* at = std::getenv(kTerminalBehind);
  struct stat status = {};
  if (!at || ::fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return 0;
  const std::string mine = "," + std::to_string(status.st_ino) + ":", all = std::string(",") + at;
  const size_t found = all.find(mine);
  return found == all.npos ? 0 : std::atoi(all.c_str() + found + mine.size());
}

}  // namespace

std::string terminal_behind(int pipe, int terminal) {
  struct stat status = {};
  winsize size{};
  if (::isatty(terminal) != 1 || ::fstat(pipe, &status) != 0) return "";
  ::ioctl(terminal, TIOCGWINSZ, &size);
  return std::to_string(status.st_ino) + ":" + std::to_string(size.ws_col > 0 ? size.ws_col : 80) + ",";
}

Terminal Terminal::of(int descriptor) {
  Terminal out;
  // Open MPI gives ranks a terminal of its own, and passes on what they write to anything.
  out.interactive = ::isatty(descriptor) == 1 && !std::getenv("OMPI_COMM_WORLD_RANK");
  if (const int passed_on = columns_behind(descriptor)) {
    out.interactive = true;
    out.columns = passed_on;
  }
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term && std::string_view(term) == "dumb";
  out.colors = out.interactive && !dumb && !(no_color && *no_color);
  out.bounded = out.interactive;
  out.interactive = out.interactive && !dumb;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) out.columns = size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  if (const int given = columns ? std::atoi(columns) : 0; given > 0) out.columns = given, out.bounded = true;
  return out;
}

std::string Terminal::paint(Ink ink, std::string_view text) const {
  constexpr const char* kCodes[] = {"", "1", "2", "32", "1;31"};
  if (!colors || ink == Ink::kPlain) return std::string(text);
  return std::string("\x1b[") + kCodes[static_cast<int>(ink)] + "m" + std::string(text) + "\x1b[0m";
}

std::string Terminal::swatch(std::string_view hex) const {
  if (!colors) return "";
  std::string out = "\x1b[48;2";
  for (size_t i = 1; i < hex.size(); i += 2)
    out += ";" + std::to_string(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out + "m  \x1b[0m";
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Unit unit = next_unit(text);
    columns += unit.columns;
    text.remove_prefix(unit.bytes);
  }
  return columns;
}

std::string fit_width(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  constexpr std::string_view kDots = "...";
  const int room = columns - static_cast<int>(kDots.size());
  size_t end = 0;
  for (int used = 0; end < text.size();) {
    const Unit unit = next_unit(text.substr(end));
    if ((used += unit.columns) > room) break;
    end += unit.bytes;
  }
  return std::string(text.substr(0, end)) +
         std::string(kDots.substr(0, static_cast<size_t>(std::max(0, columns))));
}

std::vector<std::string> wrapped(std::string_view text, int columns) {
  std::vector<std::string> out;
  while (display_width(text) > columns) {
    size_t end = 0, blank = 0;  // of what fits, and of its last whole word
    for (int used = 0; used <= columns;) {
      const Unit unit = next_unit(text.substr(end));
      if (text[end] == ' ') blank = end;
      if ((used += unit.columns) <= columns || end == 0) end += unit.bytes;
    }
    if (blank > 0) end = blank;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  }
  if (out.empty() || !text.empty()) out.emplace_back(text);
  return out;
}

std::string beside(const std::vector<std::string>& blocks, int gap) {
  std::vector<std::vector<std::string>> lines;
  std::vector<int> widths;
  size_t height = 0;
  for (const std::string& block : blocks) {
    lines.emplace_back();
    widths.push_back(0);
    for (size_t begin = 0; begin < block.size();) {
      const size_t end = std::min(block.find('\n', begin), block.size());
      lines.back().push_back(block.substr(begin, end - begin));
      widths.back() = std::max(widths.back(), display_width(lines.back().back()));
      begin = end + 1;
    }
    height = std::max(height, lines.back().size());
  }
  std::string out;
  for (size_t row = 0; row < height; ++row) {
    int missing = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string line = row < lines[i].size() ? lines[i][row] : "";
      if (!line.empty()) {
        out.append(static_cast<size_t>(missing), ' ').append(line);
        missing = 0;
      }
      missing += widths[i] - display_width(line) + gap;
    }
    out += '\n';
  }
  return out;
}

}  // namespace espalier
