# Programs from npm that tests run: a package.json and its package-lock.json, installed once per user by `npm ci`, which
# verifies every package against the hashes of the lock.
#
#   tertulia_npm_project(DIR tests/mcp OUT_DIR variable)
#
# sets `variable` to the folder that holds node_modules; to nothing, with a word about it, where there is no network to
# be used (-DTERTULIA_NPM_DIR) or no npm.
include_guard(GLOBAL)

function(tertulia_npm_project)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DIR;OUT_DIR" "")
  get_filename_component(folder "${arg_DIR}" ABSOLUTE)
  file(SHA256 "${folder}/package-lock.json" content)
  string(SUBSTRING "${content}" 0 12 content)
  get_filename_component(plain "${folder}" NAME)
  tertulia_npm_cache_dir(cache)
  set(project "${cache}/${plain}-${content}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/package-lock.json")
  set(${arg_OUT_DIR} "${project}" PARENT_SCOPE)
  if(EXISTS "${project}")
    return()
  endif()
  find_program(TERTULIA_NPM npm)
  if(TERTULIA_NPM_DIR OR NOT TERTULIA_NPM)
    message(WARNING "The programs of ${arg_DIR} are not installed: npm and a network are needed once. \
The tests that run them are left out.")
    set(${arg_OUT_DIR} "" PARENT_SCOPE)
    return()
  endif()

  # Made aside and renamed, so that two builds at the same time, or one that is stopped, leave nothing half done.
  string(RANDOM LENGTH 8 ALPHABET 0123456789abcdef unique)
  set(aside "${cache}/.${plain}-${unique}")
  file(COPY "${folder}/package.json" "${folder}/package-lock.json" DESTINATION "${aside}")
  message(STATUS "Installing the programs of ${arg_DIR}")
  execute_process(COMMAND "${TERTULIA_NPM}" ci --ignore-scripts --no-audit --no-fund --loglevel=error
    WORKING_DIRECTORY "${aside}" OUTPUT_QUIET ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed)
    file(REMOVE_RECURSE "${aside}")
    message(FATAL_ERROR "`npm ci` in ${folder} failed: ${problem}\nCheck the network and npm's registry.")
  endif()
  file(RENAME "${aside}" "${project}" RESULT ignored)
  file(REMOVE_RECURSE "${aside}")
endfunction()
