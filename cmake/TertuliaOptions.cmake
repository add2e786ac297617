# What can be chosen, and what every target of ours is compiled with.
#
# TERTULIA_DEVELOPER  tests, benches and examples. On at top level, off as a subproject.
# TERTULIA_PROGRAMS   the program `tertulia`: commands, server, chat. On at top level, off as a subproject.
# TERTULIA_MINILM     the embedder all-MiniLM-L6-v2, tertulia::minilm, and oneDNN with it. As TERTULIA_PROGRAMS, which use it.
# BUILD_SHARED_LIBS   tertulia::tertulia is one shared library, libtertulia.so, in place of static ones. Off.
# TERTULIA_WARNINGS   our warnings, as errors. As TERTULIA_DEVELOPER, unless said otherwise.
# TERTULIA_SANITIZE   a list for -fsanitize, for example "address,undefined". Empty by default.
# TERTULIA_FUZZ       build fuzz/ with libFuzzer (clang only).
# TERTULIA_BATCH      so many sources of a library, app or test program are compiled as one: what they include is read once. 0: each alone.
# TERTULIA_QUICK      what computes little (apps, tests, the upper layers) is not optimised, for builds in a hurry.
# TERTULIA_PROMPT     for a release that is soon there: standard headers are precompiled for -O2, programs are compiled at -O1 and in
#                     larger batches. The libraries stay at -O2, which must be the flag of the build. clang only.
# TERTULIA_API_ONLY   only prove that the public headers compile with this compiler; builds no library.

option(TERTULIA_DEVELOPER "Build tests, benches and examples" ${PROJECT_IS_TOP_LEVEL})
option(TERTULIA_PROGRAMS "Build the program tertulia" ${PROJECT_IS_TOP_LEVEL})
option(TERTULIA_MINILM "Build the embedder all-MiniLM-L6-v2, which needs oneDNN" ${TERTULIA_PROGRAMS})
option(BUILD_SHARED_LIBS "tertulia::tertulia is one shared library" OFF)
if(TERTULIA_DEVELOPER AND NOT TERTULIA_PROGRAMS)
  message(FATAL_ERROR "The tests run the program: TERTULIA_DEVELOPER needs TERTULIA_PROGRAMS.")
endif()
option(TERTULIA_WARNINGS "Compile with our warnings, as errors" ${TERTULIA_DEVELOPER})
set(TERTULIA_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=...")
option(TERTULIA_FUZZ "Build the fuzzers" OFF)
set(TERTULIA_BATCH 8 CACHE STRING "Sources compiled as one, 0 for each alone")
option(TERTULIA_QUICK "Do not optimise what computes little" OFF)
option(TERTULIA_PROMPT "Compile programs at -O1 and precompile headers for -O2" OFF)
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
  # What is precompiled (TertuliaPrecompiled.cmake) counts as what its .sum says.
  set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${TERTULIA_CCACHE}")
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

# Names at namespace scope, also those without linkage, are unique within a target: sources are compiled in batches.
# A source whose names are given by somebody else's interface (a table of callbacks) says ALONE and stays outside.
function(tertulia_batch target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  if(TERTULIA_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${TERTULIA_BATCH})
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# For targets whose speed is not what their tests wait for. Without optimising, most of the time is spent on what is
# included: twice as many sources share it. TESTS: sources that include GoogleTest.
function(tertulia_quick target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  if(NOT TERTULIA_QUICK)
    return()
  endif()
  target_compile_options(${target} PRIVATE -O0)
  set(precompiled std-O0)
  if(arg_TESTS)
    set(precompiled test-O0)
  endif()
  set_target_properties(${target} PROPERTIES TERTULIA_PRECOMPILED ${precompiled})
  if(TERTULIA_BATCH GREATER 1)
    math(EXPR sources "2 * ${TERTULIA_BATCH}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${sources})
  endif()
endfunction()

# A library that only our own programs link. What conversations wait for is in the layers.
function(tertulia_of_programs target)
  tertulia_quick(${target})
  if(NOT TERTULIA_PROMPT OR TERTULIA_QUICK)
    return()
  endif()
  target_compile_options(${target} PRIVATE -O1)
  set_target_properties(${target} PROPERTIES TERTULIA_PRECOMPILED std-O1)
  if(TERTULIA_BATCH GREATER 1)
    math(EXPR sources "2 * ${TERTULIA_BATCH}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${sources})
  endif()
endfunction()

# Of a template or an inline function that several objects have, a linker keeps the one it sees first. A library that is
# optimised stands before the objects that are not, or it would run with theirs: stores were half as fast in their tests.
function(tertulia_optimised_first target)
  if(TERTULIA_QUICK OR TERTULIA_PROMPT)
    target_link_options(${target} INTERFACE $<BUILD_INTERFACE:$<TARGET_FILE:${target}>>)
  endif()
endfunction()

find_program(TERTULIA_MOLD mold)
if(TERTULIA_MOLD AND PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=mold)
endif()
