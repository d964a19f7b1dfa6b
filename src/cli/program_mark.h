// "--" before the program of `espalier launch`, where it was left out.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace espalier::cli {

// The words of a call of this command, its name first. Where they call a verb of `app` that takes a program
// and have no "--", it is put before the first one that is neither a flag nor a flag's value, if that is a
// program: a file that may be executed, or the name of one in a folder of PATH. Words with a flag that the
// verb does not know before it stay as they are. Raises ValueError[launch.words] where `launch` is given
// another word.
std::vector<std::string> with_program_mark(CLI::App& app, std::vector<std::string> words);

}  // namespace espalier::cli
