# Builds in a hurry (TERTULIA_QUICK, TERTULIA_PROMPT) compile the headers of the standard library and of GoogleTest once, not in each source.
#
# A precompiled header fits only what is compiled with the same options, so there is one for each level of optimisation,
# and all else that would differ (position independence, threads) is the same everywhere. tertulia_quick() says which one
# a target takes; the others take std-O1, with TERTULIA_PROMPT std-O2. ccache does not look into it, because it names the folder that it was made in,
# but into a .sum beside it: the hash of all that is in it, so that checkouts share a cache.
if(NOT (TERTULIA_QUICK OR TERTULIA_PROMPT) OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  return()
endif()

set(precompiled "${PROJECT_BINARY_DIR}/precompiled")
file(MAKE_DIRECTORY "${precompiled}")
set(made "")
set(names std-O1 std-O2)
set(usual std-O2)
if(TERTULIA_QUICK)
  set(names std-O0 std-O1 test-O0)
  set(usual std-O1)
endif()
foreach(name IN LISTS names)
  string(REPLACE "-" ";" words ${name})
  list(GET words 0 header)
  list(GET words 1 level)
  set(source "${PROJECT_SOURCE_DIR}/cmake/precompiled/${header}.h")
  set(pch "${precompiled}/${name}.pch")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  set(compile "${CMAKE_CXX_COMPILER}" ${flags} ${sanitize} -${level} -fPIC -pthread -std=gnu++20 -fpch-instantiate-templates -x c++-header)
  if(header STREQUAL "test")
    list(APPEND compile -DGTEST_HAS_PTHREAD=1)
  endif()
  add_custom_command(OUTPUT "${pch}" WORKING_DIRECTORY "${precompiled}"
    COMMAND ${compile} -E -P "${source}" -o ${name}.text
    COMMAND "${CMAKE_COMMAND}" -E sha256sum ${name}.text > "${pch}.sum"
    COMMAND ${compile} "${source}" -o "${pch}" -MD -MF "${pch}.d" -MT "${pch}"
    DEPENDS "${source}" DEPFILE "${pch}.d" COMMENT "Precompiling ${name}" VERBATIM)
  list(APPEND made "${pch}")
endforeach()
add_custom_target(tertulia_precompiled DEPENDS ${made})

add_dependencies(tertulia_flags tertulia_precompiled)
set(own $<TARGET_PROPERTY:TERTULIA_PRECOMPILED>)
target_compile_options(tertulia_flags INTERFACE -fPIC -pthread
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${precompiled}/$<IF:$<BOOL:${own}>,${own},${usual}>.pch>")
