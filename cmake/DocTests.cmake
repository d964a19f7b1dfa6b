# The code of docs/add-an-op.md, docs/add-a-rewrite.md and docs/own-optimizer.md, compiled and run as test_docs. A block that follows
# `<!-- file: path -->` is that file.
if(NOT BUILD_TESTING)
  return()
endif()

set(doc_folder ${ESPALIER_GENERATED_DIR}/docs)

# espalier_doc_block(<page> <path> <variable>): the code of the page's block that names `path`.
function(espalier_doc_block page path variable)
  set(page ${CMAKE_SOURCE_DIR}/docs/${page})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
  file(READ ${page} page_text)
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

# espalier_doc_file(<page> <path> <file>): that code as a file in the folder of generated ones.
function(espalier_doc_file page path file)
  espalier_doc_block(${page} ${path} code)
  file(CONFIGURE OUTPUT ${doc_folder}/${file} CONTENT "${code}" @ONLY)
endfunction()

espalier_doc_block(add-an-op.md ops.h line)
# What the list of ops and ops.h would say.
set(declared "#include \"espalier/ops.h\"\n#include \"ir/op.h\"\nnamespace espalier {\n${line}extern const OpDef op_isru;\n}\n")
file(CONFIGURE OUTPUT ${doc_folder}/declared.h CONTENT "${declared}" @ONLY)
espalier_doc_file(add-an-op.md src/ops/composite/isru.cc isru.cc)
espalier_doc_file(add-an-op.md src/ops/composite/isru_test.cc isru_test.cc)
foreach(file scale_gradients.h scale_gradients.cc scale_gradients_test.cc)
  espalier_doc_file(add-a-rewrite.md src/train/${file} train/${file})
endforeach()

foreach(file lion.h lion_test.cc)
  espalier_doc_file(own-optimizer.md ${file} ${file})
endforeach()
# An optimizer of one's own sees what is installed, and nothing else.
file(CONFIGURE OUTPUT ${doc_folder}/lion_alone.cc CONTENT "#include \"lion.h\"\n" @ONLY)
add_library(docs_lion OBJECT ${doc_folder}/lion_alone.cc)
target_include_directories(docs_lion PRIVATE ${doc_folder} include)
target_compile_features(docs_lion PRIVATE cxx_std_20)

file(GLOB op_checks CONFIGURE_DEPENDS src/ops/op_*test.cc)
list(FILTER op_checks EXCLUDE REGEX "op_compilers_test")
espalier_program(test_docs ${doc_folder}/isru.cc ${doc_folder}/isru_test.cc ${doc_folder}/train/scale_gradients.cc
  ${doc_folder}/train/scale_gradients_test.cc ${doc_folder}/lion_test.cc $<TARGET_OBJECTS:docs_lion> ${op_checks})
target_include_directories(test_docs PRIVATE ${doc_folder})
target_compile_options(test_docs PRIVATE -O0 -include ${doc_folder}/declared.h)
target_link_libraries(test_docs PRIVATE GTest::gtest_main)
gtest_discover_tests(test_docs DISCOVERY_MODE PRE_TEST TEST_PREFIX docs/ PROPERTIES TIMEOUT 300 LABELS docs)
