# `cmake --install`: the library with its headers, the command, and what find_package and pkg-config read.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Espalier)

install(TARGETS espalier EXPORT EspalierTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS espalier_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(engines)
  install(TARGETS ${engines} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/espalier)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(page plan gates formats expressions rows anomalies)
  list(APPEND pages ${PROJECT_SOURCE_DIR}/docs/${page}.md)
endforeach()
install(FILES ${pages} ${PROJECT_SOURCE_DIR}/docs/report-1280-light.png DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/examples/digits.csv.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/espalier)
install(EXPORT EspalierTargets NAMESPACE Espalier:: DESTINATION ${package_folder})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/EspalierConfig.cmake.in
  ${PROJECT_BINARY_DIR}/generated/EspalierConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/EspalierConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/EspalierConfig.cmake
  ${PROJECT_BINARY_DIR}/generated/EspalierConfigVersion.cmake DESTINATION ${package_folder})

configure_file(${CMAKE_CURRENT_LIST_DIR}/espalier.pc.in ${PROJECT_BINARY_DIR}/generated/espalier.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/espalier.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
