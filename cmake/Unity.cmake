# Sources of one folder are compiled a few together: what they include is read once, which is most of the work of
# a cold build. The preset clang compiles every source alone and so sees what one borrowed from another.
option(ESPALIER_UNITY "Compile several sources of a folder together" ON)

# One that is as heavy as eight, and tests of ops, of which two files may test one op.
set(ESPALIER_UNITY_ALONE "^src/format/toml\\.cc$|^src/ops/.*_test\\.cc$")

# espalier_unity(<target>): eight sources of a folder together; those with flags of their own stay alone.
function(espalier_unity target)
  if(NOT ESPALIER_UNITY)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  list(FILTER files INCLUDE REGEX "\\.cc$")
  foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${file})
    if(name MATCHES "${ESPALIER_UNITY_ALONE}")
      continue()
    endif()
    get_filename_component(folder ${name} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / 8")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  # A struct of a source's own in a class that it defines: no other source sees either.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
