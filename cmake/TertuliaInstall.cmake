# One include/tertulia/ tree, find_package(tertulia), and pkg-config.
if(TERTULIA_API_ONLY)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tertulia)
set(targets tertulia)
foreach(layer IN LISTS TERTULIA_LAYERS)
  list(APPEND targets tertulia_${layer})
endforeach()
install(TARGETS ${targets} EXPORT tertulia
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tertulia NAMESPACE tertulia:: DESTINATION ${config_dir} FILE tertulia-targets.cmake)
configure_package_config_file(cmake/tertulia-config.cmake.in tertulia-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(tertulia-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/tertulia-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tertulia-config-version.cmake"
  DESTINATION ${config_dir})

# A static library stands before those it needs.
set(TERTULIA_PC_LIBS "")
foreach(layer IN LISTS TERTULIA_LAYERS)
  string(PREPEND TERTULIA_PC_LIBS "-ltertulia_${layer} ")
endforeach()
configure_file(cmake/tertulia.pc.in tertulia.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tertulia.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS tertulia_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
