# The list of ops is the list of files: src/ops/<op>.cc and src/ops/composite/<op>.cc. Files that begin with `_`
# are helpers. Writes generated/ops/op_list.inc, one ESPALIER_OP_ENTRY(<op>) a line, sorted by name.
file(GLOB op_files CONFIGURE_DEPENDS src/ops/*.cc src/ops/composite/*.cc)
list(FILTER op_files EXCLUDE REGEX "_test\\.cc$|/_[^/]*$")

set(op_names "")
foreach(file IN LISTS op_files)
  get_filename_component(op ${file} NAME_WE)
  if(NOT op MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${file}: an op's file is named after it, in lower case with underscores")
  endif()
  if(op IN_LIST op_names)
    message(FATAL_ERROR "${file}: the op '${op}' has another file in src/ops")
  endif()
  list(APPEND op_names ${op})
endforeach()
list(SORT op_names)

set(op_list "// Generated from the files in src/ops. Do not edit.\n")
foreach(op IN LISTS op_names)
  string(APPEND op_list "ESPALIER_OP_ENTRY(${op})\n")
endforeach()

set(ESPALIER_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
file(CONFIGURE OUTPUT ${ESPALIER_GENERATED_DIR}/ops/op_list.inc CONTENT "${op_list}" @ONLY)
