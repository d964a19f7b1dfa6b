// What the launcher gives its ranks in their environment.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// In which a rank has what started it, as words of a shell: "espalier launch -n 2 --engine mpi".
inline constexpr const char* kLaunchVariable = "ESPALIER_LAUNCH";

// Of this process, "NAME=VALUE", without what an outer launch has set.
std::vector<std::string> outer_environment();

// Of these, what goes to other hosts by itself: what the library and its plugins read, paths of programs, the
// language and the time zone, threads, settings of devices and sanitizers, unless it says the place of this
// process or is no UTF-8.
std::vector<std::string> forwarded_environment();

// The variable that a user gives all ranks by "NAME", as it is here, or "NAME=VALUE": "NAME=VALUE". Raises
// ValueError[launch.env] for one that is not set, for what is no name, and for what says a rank's place or
// the secret of the run.
std::string given_variable(const std::string& word);
// `environment` with these, which replace those of the same names.
std::vector<std::string> with_variables(std::vector<std::string> environment,
                                        const std::vector<std::string>& variables);

}  // namespace espalier
