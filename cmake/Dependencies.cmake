# Why each of them is here: docs/dependencies.md.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
# GLOBAL: for projects around this one too, which link what the library leaves to its users.
pkg_check_modules(espalier_files REQUIRED IMPORTED_TARGET GLOBAL libpng libturbojpeg nettle libutf8proc)
# The archive: loading the shared library takes 2 ms of every start of the command.
# A project around this one may have chosen already.
if(NOT TARGET protobuf::libprotobuf)
  set(Protobuf_USE_STATIC_LIBS ON)
  find_package(Protobuf REQUIRED)
  set_target_properties(protobuf::libprotobuf protobuf::protoc PROPERTIES IMPORTED_GLOBAL TRUE)
endif()
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
# Headers alone: its own package would have us link the library.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
