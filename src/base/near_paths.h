// What stands beside a path that is not there, for who mistyped it.
#pragma once

#include <functional>
#include <string>

namespace espalier {

// "did you mean data/train.csv or data/test.csv?": up to three paths of nearly the name of `path`, of those
// in its folder that `fits`; "" where there is none.
std::string near_paths(std::string path, const std::function<bool(const std::string&)>& fits);

}  // namespace espalier
