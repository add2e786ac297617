# tertulia_tidy(target …): adds the sources of these targets to the target `tidy`.
#
# Each file has a stamp that depends on its object file, so it is looked at again when it or a header of its
# own changed, and a second run costs nothing.
find_program(TERTULIA_CLANG_TIDY NAMES clang-tidy-19)

function(tertulia_tidy)
  if(NOT TARGET tidy)
    add_custom_target(tidy)
  endif()
  if(NOT TERTULIA_CLANG_TIDY OR TERTULIA_SANITIZE)
    return()
  endif()
  set(stamps "")
  foreach(target IN LISTS ARGN)
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    get_target_property(binary_dir ${target} BINARY_DIR)
    foreach(source IN LISTS sources)
      if(NOT source MATCHES "\\.cc$")
        continue()
      endif()
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${source_dir}" OUTPUT_VARIABLE file)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${source_dir}" OUTPUT_VARIABLE relative)
      set(stamp "${PROJECT_BINARY_DIR}/tidy/${target}/${relative}.ok")
      cmake_path(GET stamp PARENT_PATH stamp_dir)
      file(MAKE_DIRECTORY "${stamp_dir}")
      add_custom_command(OUTPUT "${stamp}"
        COMMAND "${TERTULIA_CLANG_TIDY}" --quiet -p "${PROJECT_BINARY_DIR}" "${file}"
        COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
        DEPENDS "${binary_dir}/CMakeFiles/${target}.dir/${relative}.o" "${PROJECT_SOURCE_DIR}/.clang-tidy"
        COMMENT "clang-tidy ${target}/${relative}")
      list(APPEND stamps "${stamp}")
    endforeach()
  endforeach()
  add_custom_target(tidy_files DEPENDS ${stamps})
  add_dependencies(tidy tidy_files)
endfunction()
