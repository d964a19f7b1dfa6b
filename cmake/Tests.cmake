# One gtest binary a room, test_<room>: src/<room>/**/*_test.cc, and tests/*.cc as the room `tests`. ctest names a
# test <room>/<Suite>.<Test> and labels it with the room. Slow tests carry `Slow` in their suite or test name.
# Rooms whose tests must hold on a device, too, run those that ask for it once more, on a fake one
# (src/runtime/on_fake_device_test.h): <room>@fake/<Suite>.<Test>, labelled fake-device. Slow ones do not, nor those of
# src/<room>/never_on_device.txt, which scripts/check-fake-device keeps true.
if(NOT BUILD_TESTING)
  return()
endif()
include(GoogleTest)

file(GLOB_RECURSE room_tests CONFIGURE_DEPENDS src/*_test.cc)
file(GLOB cross_tests CONFIGURE_DEPENDS tests/*.cc)

if(NOT room_tests AND NOT cross_tests)
  message(STATUS "espalier: no tests yet, skipped")
  return()
endif()

# What tests write, so that those of two builds never meet.
set(test_files ${CMAKE_BINARY_DIR}/tests/tmp)
file(MAKE_DIRECTORY ${test_files})
# And what the same test writes on the fake device, since both may run at once.
set(fake_device_files ${CMAKE_BINARY_DIR}/tests/fake-device)
file(MAKE_DIRECTORY ${fake_device_files}/tmp)
# PROPERTIES of gtest_discover_tests take one variable, so ctest is told of the others here.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/fake_device_tests.cmake @ONLY CONTENT [[
foreach(test IN LISTS eager_on_fake_device step_on_fake_device train_on_fake_device)
  set_tests_properties("${test}" PROPERTIES
    ENVIRONMENT "ESPALIER_DEVICE=fake;ESPALIER_BUILD_DIR=@fake_device_files@;TEST_TMPDIR=@fake_device_files@/tmp")
endforeach()
]])

# gtest is the heaviest header of every test: compiled once here, reused by all test binaries.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/test_pch.cc CONTENT "// Carrier of the precompiled header.\n")
# Tests are read by the compiler for longer than they run, and what they test is optimised all the same.
set(test_flags ${ESPALIER_PCH_FLAGS} -O0)
# Seconds. Under the thread sanitizer a test takes ten times as long, and on a busy machine as long again.
set(test_timeout 300)
# Of the room comm, where what goes wrong is most often that a rank waits for ever, and whose tests take a few seconds.
set(test_timeout_comm 60)
if(CMAKE_BUILD_TYPE STREQUAL "Tsan")
  set(test_timeout 1800)
  set(test_timeout_comm 600)
elseif(CMAKE_BUILD_TYPE STREQUAL "Asan")
  # One that sends megabytes by the control protocol takes 40 s there.
  set(test_timeout_comm ${test_timeout})
endif()
add_library(test_pch OBJECT ${CMAKE_BINARY_DIR}/generated/test_pch.cc)
target_link_libraries(test_pch PRIVATE espalier_private GTest::gtest_main)
target_precompile_headers(test_pch PRIVATE <gtest/gtest.h>)
target_compile_options(test_pch PRIVATE ${test_flags})

set(test_rooms "")
foreach(file IN LISTS room_tests)
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR}/src ${file})
  string(REGEX REPLACE "/.*" "" room ${room})
  list(APPEND test_rooms ${room})
  list(APPEND tests_of_${room} ${file})
endforeach()
if(cross_tests)
  list(APPEND test_rooms tests)
  list(APPEND tests_of_tests ${cross_tests})
endif()
list(REMOVE_DUPLICATES test_rooms)

# Libraries in the place of vendors', for tests of devices: a plugin that fails, one that answers as a test says,
# one between us and a real one, a call of which does, one whose devices are those of several processes, and a
# management library of GPUs.
set(device_libraries broken_plugin fake_plugin shim_plugin pod_cpu_plugin fake_nvml)
foreach(name IN LISTS device_libraries)
  add_library(${name} MODULE tests/plugins/${name}.cc)
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE espalier_flags ${CMAKE_DL_LIBS})
endforeach()

foreach(room IN LISTS test_rooms)
  espalier_program(test_${room} ${tests_of_${room}})
  target_include_directories(test_${room} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(test_${room} PRIVATE GTest::gtest_main)
  target_compile_options(test_${room} PRIVATE ${test_flags})
  target_precompile_headers(test_${room} REUSE_FROM test_pch)
  espalier_unity(test_${room})
  target_compile_definitions(test_${room} PRIVATE ESPALIER_CONFIG="${CMAKE_BUILD_TYPE}")
  # The command and its verbs, for the tests that call or run them.
  if(room MATCHES "^(cli|tests)$" AND TARGET espalier_cli)
    target_link_libraries(test_${room} PRIVATE espalier_cli)
  endif()
  if(room MATCHES "^(cli|tests)$" AND TARGET espalier_command)
    add_dependencies(test_${room} espalier_command)
  endif()
  if(room MATCHES "^(cli|pjrt|step|train)$")
    add_dependencies(test_${room} ${device_libraries})
  endif()
  # Loaded by name.
  if(room MATCHES "^(comm|launch|strategy|step|train)$" AND engines)
    add_dependencies(test_${room} ${engines})
  endif()
  set(timeout ${test_timeout})
  if(DEFINED test_timeout_${room})
    set(timeout ${test_timeout_${room}})
  endif()
  gtest_discover_tests(test_${room}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX ${room}/
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    PROPERTIES TIMEOUT ${timeout} LABELS ${room} ENVIRONMENT ESPALIER_BUILD_DIR=${CMAKE_BINARY_DIR}
      ENVIRONMENT_MODIFICATION TEST_TMPDIR=set:${test_files})
  if(room MATCHES "^(eager|step|train)$")
    set(never_on_device ${CMAKE_SOURCE_DIR}/src/${room}/never_on_device.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${never_on_device})
    file(STRINGS ${never_on_device} never_ask)
    list(JOIN never_ask ":" never_ask)
    gtest_discover_tests(test_${room}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      TEST_PREFIX ${room}@fake/
      TEST_FILTER "-*Slow*:*Nightly*:${never_ask}"
      TEST_LIST ${room}_on_fake_device
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      PROPERTIES TIMEOUT ${test_timeout} LABELS fake-device ENVIRONMENT ESPALIER_DEVICE=fake)
  endif()
endforeach()
# Read behind the lists of tests that it names.
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_BINARY_DIR}/generated/fake_device_tests.cmake)

# Programs of their own, since they replace functions of the C library, as sanitizers do: test_calls counts
# allocations and locks.
if(CMAKE_BUILD_TYPE MATCHES "Release|Debug")
  espalier_program(test_calls tests/calls/step_calls_test.cc tests/calls/counted_calls.cc)
  target_link_libraries(test_calls PRIVATE GTest::gtest_main ${CMAKE_DL_LIBS})
  # Names for the frames of a call that is counted.
  set_target_properties(test_calls PROPERTIES ENABLE_EXPORTS ON)
  gtest_discover_tests(test_calls DISCOVERY_MODE PRE_TEST TEST_PREFIX calls/
    PROPERTIES TIMEOUT ${test_timeout} LABELS calls ENVIRONMENT_MODIFICATION TEST_TMPDIR=set:${test_files})
endif()

# A program of its own, since it runs itself again, to be killed, and since it watches what is asked of the system
# about files.
if(CMAKE_BUILD_TYPE MATCHES "Release|Debug")
  espalier_program(test_kills tests/kills/kills_test.cc tests/kills/written_order_test.cc tests/kills/watched_files.cc)
  target_link_libraries(test_kills PRIVATE GTest::gtest ${CMAKE_DL_LIBS})
  target_compile_options(test_kills PRIVATE ${test_flags})
  target_precompile_headers(test_kills REUSE_FROM test_pch)
  gtest_discover_tests(test_kills DISCOVERY_MODE PRE_TEST TEST_PREFIX kills/ WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    PROPERTIES TIMEOUT ${test_timeout} LABELS kills ENVIRONMENT_MODIFICATION TEST_TMPDIR=set:${test_files})
endif()

# A program of its own, since it needs the command and of the room cli nothing else: `make tsan` builds it.
if(TARGET espalier_command)
  espalier_program(test_launched tests/launched/launched_ranks_test.cc)
  target_link_libraries(test_launched PRIVATE GTest::gtest_main)
  target_compile_options(test_launched PRIVATE ${test_flags})
  target_precompile_headers(test_launched REUSE_FROM test_pch)
  add_dependencies(test_launched espalier_command)
  gtest_discover_tests(test_launched DISCOVERY_MODE PRE_TEST TEST_PREFIX launched/ WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    PROPERTIES TIMEOUT ${test_timeout} LABELS launched ENVIRONMENT ESPALIER_BUILD_DIR=${CMAKE_BINARY_DIR}
      ENVIRONMENT_MODIFICATION TEST_TMPDIR=set:${test_files})
endif()
