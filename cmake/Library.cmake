# The library `espalier` (all rooms but cli) and the command `espalier` (src/cli, entry point src/cli/main.cc).
file(GLOB library_files CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*/*.cc ${PROJECT_SOURCE_DIR}/src/*/*/*.cc)
list(FILTER library_files EXCLUDE REGEX "_test\\.cc$")
set(cli_files ${library_files})
list(FILTER cli_files INCLUDE REGEX "/src/cli/")
list(FILTER library_files EXCLUDE REGEX "/src/cli/")
espalier_instruction_sets(library_files)

# What every part of the project compiles and links with; tests and programs reach src/ through it.
add_library(espalier_private INTERFACE)
target_include_directories(espalier_private INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${ESPALIER_GENERATED_DIR})
add_dependencies(espalier_private espalier_proto_headers)
file(CONFIGURE OUTPUT ${ESPALIER_GENERATED_DIR}/base/version.h CONTENT [[
// Generated from the project's version. Do not edit.
#pragma once

namespace espalier {
inline constexpr const char* kVersion = "@PROJECT_VERSION@";
}  // namespace espalier
]] @ONLY)
target_include_directories(espalier_private SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})
target_link_libraries(espalier_private INTERFACE
  espalier_flags Threads::Threads ZLIB::ZLIB $<LINK_ONLY:PkgConfig::espalier_files>
  $<LINK_ONLY:protobuf::libprotobuf> nlohmann_json::nlohmann_json CLI11::CLI11)

if(library_files)
  add_library(espalier STATIC ${library_files} $<TARGET_OBJECTS:espalier_protos>)
  add_library(Espalier::espalier ALIAS espalier)
  target_include_directories(espalier PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(espalier PUBLIC cxx_std_20)
  # The standard headers of nearly every source, compiled once; the preset clang does without and so sees what a
  # source forgot to include.
  target_precompile_headers(espalier PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string> <vector>)
  target_compile_options(espalier PRIVATE ${ESPALIER_PCH_FLAGS})
  espalier_unity(espalier)
  target_link_libraries(espalier
    PRIVATE $<BUILD_INTERFACE:espalier_private>
    PUBLIC Threads::Threads ZLIB::ZLIB $<LINK_ONLY:PkgConfig::espalier_files> $<LINK_ONLY:protobuf::libprotobuf>)
else()
  message(STATUS "espalier: no library sources in src/ yet, skipped")
endif()

set(cli_main ${cli_files})
list(FILTER cli_main INCLUDE REGEX "/src/cli/main\\.cc$")
list(REMOVE_ITEM cli_files ${cli_main} "")

# The heaviest headers of every verb, compiled once for all parts of the room.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/cli_pch.cc CONTENT "// Carrier of the precompiled header.\n")
# Verbs wait for the library; their own code is mostly text.
set(cli_flags ${ESPALIER_PCH_FLAGS} $<$<CONFIG:Release>:-O1>)
add_library(cli_pch OBJECT ${CMAKE_BINARY_DIR}/generated/cli_pch.cc)
target_link_libraries(cli_pch PRIVATE espalier_private)
target_precompile_headers(cli_pch PRIVATE <CLI/CLI.hpp> <nlohmann/json.hpp>)
target_compile_options(cli_pch PRIVATE ${cli_flags})

# espalier_cli_library(<name> <source>...): sources of the room, to be linked into whoever calls them.
function(espalier_cli_library name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE espalier_private)
  target_precompile_headers(${name} REUSE_FROM cli_pch)
  target_compile_options(${name} PRIVATE ${cli_flags})
  espalier_unity(${name})
endfunction()

# The verbs are objects of their own, so that tests of the room cli can call them.
if(cli_files)
  espalier_cli_library(espalier_cli ${cli_files})
endif()

# espalier_program(<target> <source>...): an executable with access to everything.
function(espalier_program target)
  add_executable(${target} ${ARGN})
  if(TARGET espalier)
    target_link_libraries(${target} PRIVATE espalier)
  endif()
  target_link_libraries(${target} PRIVATE espalier_private)
endfunction()

if(cli_main)
  espalier_program(espalier_command ${cli_main})
  set_target_properties(espalier_command PROPERTIES OUTPUT_NAME espalier)
  target_compile_options(espalier_command PRIVATE $<$<CONFIG:Release>:-O1>)
  if(TARGET espalier_cli)
    target_link_libraries(espalier_command PRIVATE espalier_cli)
  endif()
else()
  message(STATUS "espalier: no src/cli/main.cc yet, the command is skipped")
endif()
