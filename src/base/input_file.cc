#include "base/input_file.h"

#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/env.h"
#include "base/format.h"
#include "base/near_paths.h"
#include "espalier/error.h"

namespace espalier {

namespace fs = std::filesystem;

std::string near_files(const std::string& path) {
  return near_paths(path, [](const std::string& file) { return !fs::is_directory(file); });
}

void check_file(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none) && !none)
    throw IoError("file.read", cat("cannot read ", path, ": no such file"), near_files(path));
}

bool is_stream(const std::string& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return path == "-" || fs::is_other(status);
}

std::string read_text(const std::string& path) {
  if (path != "-") {
    check_file(path);
    return posix_env().read_file(path);
  }
  if (std::cin.eof())
    throw ValueError("data.input", "standard input was read already: it can be one of the files, not more");
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  std::cin.setstate(std::ios::eofbit);
  if (std::cin.bad()) throw IoError("file.read", "cannot read standard input");
  return text;
}

std::string source_name(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

void keep_inputs(const std::string& out, const std::vector<std::string>& inputs) {
  std::error_code none;
  for (const std::string& input : inputs) {
    if (out != "-" && input != "-" && std::filesystem::equivalent(out, input, none))
      throw ValueError("results.out", cat("results into ", out, " would replace what is read here"),
                       "name another file");
  }
}

}  // namespace espalier
