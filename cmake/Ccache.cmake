# Compile through ccache when present. The settings let checkouts in different folders share results:
# paths below the source folder are hashed relative to it, and a precompiled header does not defeat the cache.
if(ESPALIER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ESPALIER_CCACHE_PROGRAM ccache)
  if(ESPALIER_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${ESPALIER_CCACHE_PROGRAM})
  endif()
endif()
