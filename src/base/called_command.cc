#include "base/called_command.h"

#include "base/format.h"
#include "base/shell_words.h"

namespace espalier {
namespace {

std::string program = "espalier";
std::vector<std::string> words_called;

}  // namespace

void set_program(const std::string& name, const std::vector<std::string>& words) {
  program = name;
  words_called = words;
}

const std::vector<std::string>& called_words() { return words_called; }

std::string command(const std::vector<std::string>& arguments) {
  return cat(shell_words({program}), " ", shell_words(arguments));
}

}  // namespace espalier
