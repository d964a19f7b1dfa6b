# One place for every compiler flag. espalier_flags carries what all targets of this project compile with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(sanitize_asan "-fsanitize=address,undefined -fno-sanitize-recover=all")
option(ESPALIER_LIGHT_SANITIZERS
  "Asan that compiles fast: unoptimised, without vptr, null, alignment and object-size" OFF)
if(ESPALIER_LIGHT_SANITIZERS)
  string(APPEND sanitize_asan " -O0 -fno-sanitize=vptr,null,alignment,object-size")
endif()
set(sanitize_tsan "-fsanitize=thread")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_ASAN "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS ${sanitize_asan}")
set(CMAKE_CXX_FLAGS_TSAN "-O1 -g1 -fno-omit-frame-pointer ${sanitize_tsan}")
# Programs with sanitizers are many and large; this linker takes a third of the time.
find_program(ESPALIER_LLD ld.lld)
set(CMAKE_EXE_LINKER_FLAGS_ASAN "${sanitize_asan}")
set(CMAKE_EXE_LINKER_FLAGS_TSAN "${sanitize_tsan}")
if(ESPALIER_LLD)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_ASAN " -fuse-ld=lld")
  string(APPEND CMAKE_EXE_LINKER_FLAGS_TSAN " -fuse-ld=lld")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE MATCHES "^(Release|Debug|Asan|Tsan)$")
  message(FATAL_ERROR "CMAKE_BUILD_TYPE is '${CMAKE_BUILD_TYPE}'; known are Release, Debug, Asan, Tsan")
endif()

add_library(espalier_flags INTERFACE)
target_compile_options(espalier_flags INTERFACE
  -Wall -Wextra
  # Bitwise equality of element-wise code across executors needs uncontracted arithmetic.
  -ffp-contract=off -fno-math-errno
  # __FILE__, __builtin_FILE() and debug information are relative to the project: errors and cached objects name
  # no machine, and errors tell the library's lines from those of programs that have a folder src, too. The
  # second form is what a compiler called through ccache sees.
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=espalier/" "-fdebug-prefix-map=${PROJECT_SOURCE_DIR}/="
  "-fmacro-prefix-map=../../=espalier/" "-fdebug-prefix-map=../../=")
if(ESPALIER_WERROR)
  target_compile_options(espalier_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 inside std::string and std::vector.
  target_compile_options(espalier_flags INTERFACE -Wno-restrict)
  if(CMAKE_BUILD_TYPE MATCHES "Asan|Tsan")
    target_compile_options(espalier_flags INTERFACE
      -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-tsan)
  endif()
endif()

# Sources that target one instruction set say so in their file name. Such a file must keep every function it
# defines or instantiates local (anonymous namespace): an inline function shared with other files could be
# linked in its AVX-512 form and crash on a lesser machine.
# `portable` is for any processor. All of them are loops worth vectorising.
set(ESPALIER_ISA_SUFFIXES portable avx2 avx512 amx)
# Nobody reads the exception flags of the floating-point unit; results are the same.
set(ESPALIER_ISA_FLAGS_portable "$<$<CONFIG:Release>:-O3>" -fno-trapping-math)
set(ESPALIER_ISA_FLAGS_avx2 ${ESPALIER_ISA_FLAGS_portable} -mavx2 -mfma -mf16c)
set(ESPALIER_ISA_FLAGS_avx512 ${ESPALIER_ISA_FLAGS_portable} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mtune=sapphirerapids -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes its own undefined vectors for mistakes (bug 105593).
  list(APPEND ESPALIER_ISA_FLAGS_avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
set(ESPALIER_ISA_FLAGS_amx ${ESPALIER_ISA_FLAGS_avx512} -mavx512bf16 -mamx-tile -mamx-bf16)

# Gives the files in the list named by `var` their flags; drops them from it where the processor is another one.
function(espalier_instruction_sets var)
  set(files ${${var}})
  foreach(isa IN LISTS ESPALIER_ISA_SUFFIXES)
    set(matching ${files})
    list(FILTER matching INCLUDE REGEX "_${isa}\\.cc$")
    if(NOT matching)
      continue()
    endif()
    if(isa STREQUAL "portable" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set_source_files_properties(${matching} PROPERTIES
        COMPILE_OPTIONS "${ESPALIER_ISA_FLAGS_${isa}}" SKIP_PRECOMPILE_HEADERS ON)
    else()
      list(REMOVE_ITEM files ${matching})
    endif()
  endforeach()
  set(${var} ${files} PARENT_SCOPE)
endfunction()

# What lets ccache share objects that use a precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ESPALIER_PCH_FLAGS -fpch-preprocess)
else()
  set(ESPALIER_PCH_FLAGS "SHELL:-Xclang -fno-pch-timestamp")
endif()
