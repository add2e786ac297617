# The Debian packages: `cpack` in the build directory, or scripts/package. One for each part (TertuliaInstall.cmake):
#   tertulia           the program, its service, a configuration that is the administrator's from then on, a manual page
#   libtertulia<ABI>   the shared library, and the helper that reads documents
#   libtertulia-dev    headers, the shared library's name for linkers, the archives, find_package, pkg-config
#   tertulia-minilm    the weights of the embedder minilm
if(TERTULIA_API_ONLY OR NOT PROJECT_IS_TOP_LEVEL OR NOT TERTULIA_PROGRAMS)
  return()
endif()
find_program(TERTULIA_GZIP gzip)
if(NOT TERTULIA_GZIP)
  return()
endif()

set(from "${PROJECT_SOURCE_DIR}/packaging")
set(made "${PROJECT_BINARY_DIR}/packaging")
configure_file("${from}/tertulia.1" "${made}/tertulia.1" COPYONLY)
execute_process(COMMAND "${TERTULIA_GZIP}" -9nkf "${made}/tertulia.1" COMMAND_ERROR_IS_FATAL ANY)
install(FILES "${made}/tertulia.1.gz" DESTINATION share/man/man1 COMPONENT server)
install(FILES "${from}/debian/config.toml" DESTINATION /etc/tertulia COMPONENT server EXCLUDE_FROM_ALL)

set(parts server runtime dev)
set(name_of_server tertulia)
set(name_of_runtime libtertulia${TERTULIA_ABI})
set(name_of_dev libtertulia-dev)
if(TERTULIA_MINILM)
  list(APPEND parts minilm)
  set(name_of_minilm tertulia-minilm)
endif()
foreach(part IN LISTS parts)
  set(TERTULIA_PACKAGE ${name_of_${part}})
  configure_file("${from}/debian/changelog.in" "${made}/${part}/changelog" @ONLY)
  # -n: the same bytes whenever it is made.
  execute_process(COMMAND "${TERTULIA_GZIP}" -9nkf "${made}/${part}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${made}/${part}/changelog.gz" "${from}/debian/copyright" DESTINATION share/doc/${TERTULIA_PACKAGE}
    COMPONENT ${part} EXCLUDE_FROM_ALL)
  string(TOUPPER ${part} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${TERTULIA_PACKAGE})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tertulia)
set(CPACK_PACKAGE_CONTACT "The Tertulia authors <tertulia@localhost>")
set(CPACK_COMPONENTS_ALL ${parts})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_SERVER_DESCRIPTION "durable, branching conversations for LLM agents
A server and command-line program that keeps the conversations of LLM
agents: they branch, survive crashes, and can be spoken to through
OpenAI-compatible clients, a native HTTP API, a web chat and a terminal.")
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS ON)
# libcurl is loaded when it is needed, so that no tool finds it in the program.
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54), libcurl4")
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "poppler-utils")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "tertulia-minilm")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${from}/debian/postinst;${from}/debian/prerm;${from}/debian/postrm;${from}/debian/conffiles")

set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "conversation engine for LLM agents, the library
The shared library that programs with Tertulia in them load, and the
confined program by which it reads documents.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libcurl4)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS poppler-utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_COMPONENT_DEV_DESCRIPTION "conversation engine for LLM agents, for programs
Headers, archives, and what CMake and pkg-config need to find them.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${name_of_runtime} (= ${PROJECT_VERSION}), libfmt-dev, libre2-dev, libsodium-dev, \
libspdlog-dev, libsqlite3-dev, libssl-dev, libstemmer-dev, libzstd-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libdnnl-dev")

set(CPACK_COMPONENT_MINILM_DESCRIPTION "conversation engine for LLM agents, an embedder's weights
The weights of all-MiniLM-L6-v2, for memory.embedder = \"minilm\".")
set(CPACK_DEBIAN_MINILM_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_MINILM_PACKAGE_ARCHITECTURE all)
include(CPack)
