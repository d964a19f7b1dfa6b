# The code of docs/add-an-op.md, compiled and run as test_docs. A block that follows `<!-- file: path -->` is that file.
if(NOT BUILD_TESTING)
  return()
endif()

set(page ${CMAKE_SOURCE_DIR}/docs/add-an-op.md)
set(doc_folder ${ESPALIER_GENERATED_DIR}/docs)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
file(READ ${page} page_text)

# espalier_doc_block(<path> <variable>): the code of the block that names `path`.
function(espalier_doc_block path variable)
  string(FIND "${page_text}" "<!-- file: ${path} -->\n```cpp\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${page}: has no block for ${path}")
  endif()
  string(SUBSTRING "${page_text}" ${begin} -1 code)
  string(FIND "${code}" "```cpp\n" skip)
  math(EXPR skip "${skip} + 7")
  string(SUBSTRING "${code}" ${skip} -1 code)
  string(FIND "${code}" "```" end)
  string(SUBSTRING "${code}" 0 ${end} code)
  set(${variable} "${code}" PARENT_SCOPE)
endfunction()

espalier_doc_block(src/ops/composite/isru.cc op_code)
espalier_doc_block(src/ops/composite/isru_test.cc test_code)
espalier_doc_block(ops.h line)
# What the list of ops and ops.h would say.
set(declared "#include \"espalier/ops.h\"\n#include \"ir/op.h\"\nnamespace espalier {\n${line}extern const OpDef op_isru;\n}\n")
file(CONFIGURE OUTPUT ${doc_folder}/declared.h CONTENT "${declared}" @ONLY)
file(CONFIGURE OUTPUT ${doc_folder}/isru.cc CONTENT "${op_code}" @ONLY)
file(CONFIGURE OUTPUT ${doc_folder}/isru_test.cc CONTENT "${test_code}" @ONLY)

file(GLOB op_checks CONFIGURE_DEPENDS src/ops/op_*test.cc)
espalier_program(test_docs ${doc_folder}/isru.cc ${doc_folder}/isru_test.cc ${op_checks})
target_compile_options(test_docs PRIVATE -O0 -include ${doc_folder}/declared.h)
target_link_libraries(test_docs PRIVATE GTest::gtest_main)
gtest_discover_tests(test_docs DISCOVERY_MODE PRE_TEST TEST_PREFIX docs/ PROPERTIES TIMEOUT 300 LABELS docs)
