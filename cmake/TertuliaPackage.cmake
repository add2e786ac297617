# The Debian package: `cpack` in the build directory, or scripts/package. It holds the program, its service, a
# configuration that is the administrator's from then on, and a manual page; the libraries for C++ are not in it.
if(TERTULIA_API_ONLY OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
find_program(TERTULIA_GZIP gzip)
if(NOT TERTULIA_GZIP)
  return()
endif()

set(from "${PROJECT_SOURCE_DIR}/packaging")
set(made "${PROJECT_BINARY_DIR}/packaging")
configure_file("${from}/debian/changelog.in" "${made}/changelog" @ONLY)
configure_file("${from}/tertulia.1" "${made}/tertulia.1" COPYONLY)
foreach(file changelog tertulia.1)
  # -n: the same bytes whenever it is made.
  execute_process(COMMAND "${TERTULIA_GZIP}" -9nkf "${made}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

install(TARGETS tertulia_cli RUNTIME DESTINATION bin COMPONENT package EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/apps/server/tertulia.service" DESTINATION lib/systemd/system COMPONENT package
  EXCLUDE_FROM_ALL)
install(FILES "${made}/tertulia.1.gz" DESTINATION share/man/man1 COMPONENT package EXCLUDE_FROM_ALL)
install(FILES "${made}/changelog.gz" "${from}/debian/copyright" DESTINATION share/doc/tertulia COMPONENT package
  EXCLUDE_FROM_ALL)
install(FILES "${from}/debian/config.toml" DESTINATION /etc/tertulia COMPONENT package EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tertulia)
set(CPACK_PACKAGE_CONTACT "The Tertulia authors <tertulia@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable, branching conversations for LLM agents")
set(CPACK_PACKAGE_DESCRIPTION "A server and command-line program that keeps the conversations of LLM\n\
 agents: they branch, survive crashes, and can be spoken to through\n\
 OpenAI-compatible clients, a native HTTP API, a web chat and a terminal.")
set(CPACK_COMPONENTS_ALL package)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tertulia;package;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${from}/debian/postinst;${from}/debian/prerm;${from}/debian/postrm;${from}/debian/conffiles")
include(CPack)
