# What can be chosen, and what every target of ours is compiled with.
#
# TERTULIA_DEVELOPER  tests, benches and examples. On at top level, off as a subproject.
# TERTULIA_WARNINGS   our warnings, as errors. As TERTULIA_DEVELOPER, unless said otherwise.
# TERTULIA_SANITIZE   a list for -fsanitize, for example "address,undefined". Empty by default.
# TERTULIA_FUZZ       build fuzz/ with libFuzzer (clang only).
# TERTULIA_API_ONLY   only prove that the public headers compile with this compiler; builds no library.

option(TERTULIA_DEVELOPER "Build tests, benches and examples" ${PROJECT_IS_TOP_LEVEL})
option(TERTULIA_WARNINGS "Compile with our warnings, as errors" ${TERTULIA_DEVELOPER})
set(TERTULIA_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=...")
option(TERTULIA_FUZZ "Build the fuzzers" OFF)
option(TERTULIA_API_ONLY "Only compile the public headers" OFF)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT TERTULIA_API_ONLY)
  message(FATAL_ERROR
    "g++ ${CMAKE_CXX_COMPILER_VERSION} cannot build Tertulia: g++ before 13 silently miscompiles coroutines "
    "(docs/decisions/0001-compiler.md). Use clang-19: -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19. "
    "A program of yours may still be built with g++ 12 and link against the library.")
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
endif()

find_program(TERTULIA_CCACHE ccache)
if(TERTULIA_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Base directory and no hashed directory: a second checkout shares the cache of the first.
  set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${TERTULIA_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(tertulia_flags INTERFACE)
target_compile_features(tertulia_flags INTERFACE cxx_std_20)
target_compile_options(tertulia_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(TERTULIA_WARNINGS)
  target_compile_options(tertulia_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wconversion -Wswitch -Werror
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-sign-conversion -Wno-missing-designated-field-initializers>)
endif()
if(TERTULIA_SANITIZE)
  set(sanitize -fsanitize=${TERTULIA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()

find_program(TERTULIA_MOLD mold)
if(TERTULIA_MOLD AND PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=mold)
endif()
