// Where Open MPI keeps its files of one launch on this host.
#pragma once

#include <filesystem>

#include "base/held_folder.h"

namespace espalier {

// They go with the launch, and those of a launch that was killed when the next one begins.
struct MpiFolders {
  static std::string temporary() {
    std::error_code none;
    return std::filesystem::temp_directory_path(none).string();
  }
  static constexpr const char* kBegin = "espalier-mpi-";

  HeldFolder session{temporary(), kBegin};  // of mpirun
  HeldFolder memory{"/dev/shm", kBegin};    // that ranks share
};

}  // namespace espalier
