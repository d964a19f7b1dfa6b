# src/<room>/**/<x>.proto -> "<room>/**/<x>.pb.h", and its code in the library.
file(GLOB_RECURSE proto_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.proto)
set(proto_folder ${ESPALIER_GENERATED_DIR}/protos)
set(proto_sources "")
set(proto_headers "")
foreach(file IN LISTS proto_files)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${file})
  string(REGEX REPLACE "\\.proto$" ".pb" name ${proto_folder}/${name})
  add_custom_command(
    OUTPUT ${name}.cc ${name}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${proto_folder}
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR}/src --cpp_out=${proto_folder} ${file}
    DEPENDS ${proto_files}
    VERBATIM)
  list(APPEND proto_sources ${name}.cc)
  list(APPEND proto_headers ${name}.h)
endforeach()
add_custom_target(espalier_proto_headers DEPENDS ${proto_headers})

# Nobody reads the warnings of code that nobody wrote.
add_library(espalier_protos OBJECT ${proto_sources})
target_include_directories(espalier_protos SYSTEM PRIVATE ${proto_folder})
target_compile_options(espalier_protos PRIVATE -w -O1)
add_dependencies(espalier_protos espalier_proto_headers)
