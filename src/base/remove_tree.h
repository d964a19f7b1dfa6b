// Removing a folder with all in it.
#pragma once

#include <string>

namespace espalier {

// The file or folder `name` in the open folder `above`. No link is followed, not even one that another
// process puts there meanwhile. What cannot be removed stays.
void remove_tree(int above, const std::string& name);

}  // namespace espalier
