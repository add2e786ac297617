# tertulia::tertulia: the static layers or, with BUILD_SHARED_LIBS, libtertulia.so, in which all of them are.
#
# The shared library hides all that is not in namespace tertulia, and what it shows has a version (libtertulia.map). Before
# 1.0 each minor version is a binary interface of its own, and the soname says so: libtertulia.so.0.1.
# The target is always there, because packages hold both; who builds static libraries alone never builds it.
if(TERTULIA_API_ONLY)
  add_library(tertulia::tertulia ALIAS tertulia)
  return()
endif()

set(TERTULIA_ABI "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(objects "")
foreach(layer IN LISTS TERTULIA_LAYERS)
  list(APPEND objects $<TARGET_OBJECTS:tertulia_${layer}>)
endforeach()
configure_file(cmake/libtertulia.map.in libtertulia.map @ONLY)
set(unless_asked EXCLUDE_FROM_ALL)
if(BUILD_SHARED_LIBS OR (TERTULIA_DEVELOPER AND NOT TERTULIA_SANITIZE))
  set(unless_asked "")
endif()
add_library(tertulia_shared SHARED ${unless_asked} ${objects})
set_target_properties(tertulia_shared PROPERTIES
  EXPORT_NAME tertulia OUTPUT_NAME tertulia VERSION ${PROJECT_VERSION} SOVERSION ${TERTULIA_ABI} LINKER_LANGUAGE CXX
  LINK_DEPENDS "${PROJECT_BINARY_DIR}/libtertulia.map")
target_compile_features(tertulia_shared INTERFACE cxx_std_20)
# Of the archives it takes nothing, since all their objects are there: they say which libraries they need.
target_link_libraries(tertulia_shared PRIVATE $<BUILD_INTERFACE:tertulia>)
target_link_options(tertulia_shared PRIVATE
  "LINKER:--version-script=${PROJECT_BINARY_DIR}/libtertulia.map" LINKER:--as-needed LINKER:-z,defs)
foreach(layer IN LISTS TERTULIA_LAYERS)
  target_include_directories(tertulia_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libs/${layer}/include>)
endforeach()

# What stands beside the layers, for those who link the shared library.
set(TERTULIA_BESIDE store_testing)
if(TERTULIA_MINILM)
  list(APPEND TERTULIA_BESIDE minilm)
endif()
foreach(name IN LISTS TERTULIA_BESIDE)
  add_library(tertulia_${name}_for_shared STATIC ${unless_asked} $<TARGET_OBJECTS:tertulia_${name}>)
  set_target_properties(tertulia_${name}_for_shared PROPERTIES
    EXPORT_NAME ${name} OUTPUT_NAME tertulia_${name} ARCHIVE_OUTPUT_DIRECTORY shared LINKER_LANGUAGE CXX)
  target_link_libraries(tertulia_${name}_for_shared PUBLIC tertulia_shared)
endforeach()
if(TERTULIA_MINILM)
  target_link_libraries(tertulia_minilm_for_shared PRIVATE dnnl gomp)
endif()

if(BUILD_SHARED_LIBS)
  add_library(tertulia::tertulia ALIAS tertulia_shared)
else()
  add_library(tertulia::tertulia ALIAS tertulia)
endif()
