# Engines between hosts, engines/x.cc -> espalier_x.so: modules that the library loads when a run asks for them
# (src/comm/wire_module.h). They know headers of it and link nothing of it; each is built where its package is.

# A module and the program that loads it may be of two builds of one version: what they share is part of the version
# by which they know each other.
set(wire_text "")
foreach(header comm/wire.h comm/wire_module.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${header})
  file(READ ${PROJECT_SOURCE_DIR}/src/${header} text)
  string(APPEND wire_text "${text}")
endforeach()
string(SHA256 wire_hash "${wire_text}")
string(SUBSTRING ${wire_hash} 0 8 wire_hash)
file(CONFIGURE OUTPUT ${ESPALIER_GENERATED_DIR}/base/wire_version.h CONTENT [[
// Generated from the project's version, src/comm/wire.h and src/comm/wire_module.h. Do not edit.
#pragma once

namespace espalier {
inline constexpr const char* kWireVersion = "@PROJECT_VERSION@-@wire_hash@";
}  // namespace espalier
]] @ONLY)

# Where programs look that do not lie beside them.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/comm/wire_module.cc PROPERTIES
  COMPILE_DEFINITIONS ESPALIER_MODULE_FOLDER="${CMAKE_INSTALL_FULL_LIBDIR}/espalier")

set(engines "")
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
find_package(Gloo CONFIG QUIET)
find_package(MPI QUIET COMPONENTS CXX)

# espalier_engine(<name> <package> <found> <library>)
function(espalier_engine name package found library)
  if(NOT found)
    message(STATUS "espalier: ${package} is not installed, the engine ${name} is skipped")
    return()
  endif()
  add_library(espalier_${name} MODULE ${PROJECT_SOURCE_DIR}/engines/${name}.cc)
  set_target_properties(espalier_${name} PROPERTIES PREFIX "")
  target_include_directories(espalier_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${ESPALIER_GENERATED_DIR})
  target_link_libraries(espalier_${name} PRIVATE espalier_flags Threads::Threads ${library})
  target_link_options(espalier_${name} PRIVATE -Wl,--as-needed)
  set(engines ${engines} espalier_${name} PARENT_SCOPE)
endfunction()
espalier_engine(gloo libgloo-dev "${Gloo_FOUND}" gloo)
espalier_engine(mpi libopenmpi-dev "${MPI_CXX_FOUND}" MPI::MPI_CXX)

# They lie beside the command, which loads them by name.
if(engines AND TARGET espalier_command)
  add_dependencies(espalier_command ${engines})
endif()
