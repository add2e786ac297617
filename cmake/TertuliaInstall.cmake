# What is installed, and in which part:
#   server   the program, its unit and its manual page         runtime  libtertulia.so and the helper that reads documents
#   minilm   the weights of the minilm embedder                dev      headers, archives, find_package, pkg-config
# `cmake --install` takes what belongs to the build: static libraries or, with BUILD_SHARED_LIBS, the shared one.
# The Debian packages (TertuliaPackage.cmake) hold both. scripts/build and the target `installable` build all of it.
if(TERTULIA_API_ONLY)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tertulia)
set(static_targets tertulia)
set(shared_targets tertulia_shared)
foreach(layer IN LISTS TERTULIA_LAYERS)
  list(APPEND static_targets tertulia_${layer})
endforeach()
foreach(name IN LISTS TERTULIA_BESIDE)
  list(APPEND static_targets tertulia_${name})
  list(APPEND shared_targets tertulia_${name}_for_shared)
endforeach()

set(not_static EXCLUDE_FROM_ALL)
set(not_shared EXCLUDE_FROM_ALL)
if(BUILD_SHARED_LIBS)
  set(not_shared "")
  set(built ${shared_targets})
else()
  set(not_static "")
  set(built ${static_targets})
  list(REMOVE_ITEM built tertulia)
endif()
add_custom_target(installable DEPENDS ${built} tertulia-extract)
add_custom_target(packable DEPENDS ${static_targets} ${shared_targets})
add_dependencies(packable installable)

install(TARGETS ${static_targets} EXPORT tertulia-static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev ${not_static}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev ${not_static})
install(EXPORT tertulia-static NAMESPACE tertulia:: DESTINATION ${config_dir} COMPONENT dev ${not_static})
install(TARGETS ${shared_targets} EXPORT tertulia-shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev ${not_shared}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev ${not_shared}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tertulia-shared NAMESPACE tertulia:: DESTINATION ${config_dir} COMPONENT dev ${not_shared})
if(BUILD_SHARED_LIBS)
  foreach(layer IN LISTS TERTULIA_LAYERS)
    install(DIRECTORY libs/${layer}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN *.h)
  endforeach()
endif()

configure_package_config_file(cmake/tertulia-config.cmake.in tertulia-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(tertulia-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/tertulia-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tertulia-config-version.cmake"
  DESTINATION ${config_dir} COMPONENT dev)

# tertulia.pc is that of the static libraries or of the shared one. A static library stands before those it needs.
file(RELATIVE_PATH TERTULIA_PC_PREFIX "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /x)
string(REGEX REPLACE "/$" "" TERTULIA_PC_PREFIX "${TERTULIA_PC_PREFIX}")
set(TERTULIA_PC_REQUIRES "Requires: fmt libcrypto libsodium libzstd re2 spdlog sqlite3")
set(TERTULIA_PC_LIBS "")
foreach(layer IN LISTS TERTULIA_LAYERS)
  string(PREPEND TERTULIA_PC_LIBS "-ltertulia_${layer} ")
endforeach()
string(APPEND TERTULIA_PC_LIBS "-lstemmer -ldl -pthread")
configure_file(cmake/tertulia.pc.in pkgconfig/static/tertulia.pc @ONLY)
set(TERTULIA_PC_REQUIRES "")
set(TERTULIA_PC_LIBS "-ltertulia")
configure_file(cmake/tertulia.pc.in pkgconfig/shared/tertulia.pc @ONLY)
# The packages have that of the shared one.
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/static/tertulia.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT static ${not_static})
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/shared/tertulia.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev ${not_shared})

install(TARGETS tertulia-extract RUNTIME DESTINATION libexec/tertulia COMPONENT runtime)
if(TERTULIA_MINILM)
  install(FILES "${TERTULIA_MINILM_WEIGHTS}" DESTINATION ${CMAKE_INSTALL_DATADIR}/tertulia RENAME all-MiniLM-L6-v2.onnx
    COMPONENT minilm)
endif()
if(TERTULIA_PROGRAMS)
  add_dependencies(installable tertulia_cli)
  install(TARGETS tertulia_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  install(FILES apps/server/tertulia.service DESTINATION lib/systemd/system COMPONENT server)
endif()
