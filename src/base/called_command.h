// The command that this process is a call of, for messages that suggest another one.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// How it was called; of a program of a user's own "espalier", without words.
void set_program(const std::string& name, const std::vector<std::string>& words = {});
// The words behind the name of the command, as they came; none where nobody called a command.
const std::vector<std::string>& called_words();
// These words behind the name of this command, each quoted for a shell where it must be.
std::string command(const std::vector<std::string>& arguments);

}  // namespace espalier
