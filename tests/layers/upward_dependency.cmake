# A layer that declares an upward dependency stops the configuration.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/TertuliaLayer.cmake")
set(TERTULIA_LAYERS base text conversation)
tertulia_check_direction(conversation base text)
tertulia_check_direction(text conversation)
