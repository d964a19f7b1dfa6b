# src/<room>/**/<x>.proto -> "<room>/**/<x>.pb.h", and its code in the library.
file(GLOB_RECURSE proto_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.proto)
# Beside what else is generated, so that no source needs another folder to look in.
set(proto_folder ${ESPALIER_GENERATED_DIR})
set(proto_sources "")
set(proto_headers "")
foreach(file IN LISTS proto_files)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${file})
  string(REGEX REPLACE "\\.proto$" ".pb" name ${proto_folder}/${name})
  add_custom_command(
    OUTPUT ${name}.cc ${name}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${proto_folder}
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR}/src --cpp_out=${proto_folder} ${file}
    COMMAND sed -i "1i #pragma GCC system_header" ${name}.h
    DEPENDS ${proto_files}
    VERBATIM)
  list(APPEND proto_sources ${name}.cc)
  list(APPEND proto_headers ${name}.h)
endforeach()
add_custom_target(espalier_proto_headers DEPENDS ${proto_headers})

# Nobody reads the warnings of code that nobody wrote, here or where its headers are included.
add_library(espalier_protos OBJECT ${proto_sources})
target_include_directories(espalier_protos PRIVATE ${proto_folder})
target_compile_options(espalier_protos PRIVATE -w -O1 $<$<BOOL:${ESPALIER_LIGHT_SANITIZERS}>:-fno-sanitize=all>)
add_dependencies(espalier_protos espalier_proto_headers)
