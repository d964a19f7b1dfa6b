# Engines between hosts, engines/x.cc -> espalier_x.so: modules that the library loads when a run asks for them
# (src/comm/wire_module.h). They know headers of it and link nothing of it; each is built where its package is.

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
