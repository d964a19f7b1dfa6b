# Why each of them is here: docs/dependencies.md.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
