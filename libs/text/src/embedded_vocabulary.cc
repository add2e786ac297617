// The packed vocabularies as part of the library's read-only data.
#include "packed_vocabulary.h"

asm(R"(
    .section .rodata
    .balign 8
    .global tertulia_vocabularies_begin
    .hidden tertulia_vocabularies_begin
    .global tertulia_vocabularies_end
    .hidden tertulia_vocabularies_end
tertulia_vocabularies_begin:
    .incbin ")" TERTULIA_VOCABULARY_FILE R"("
tertulia_vocabularies_end:
    .byte 0
    .text
)");

extern "C" {
extern const char tertulia_vocabularies_begin[];
extern const char tertulia_vocabularies_end[];
}

namespace tertulia {

std::string_view embedded_vocabularies() {
  return {tertulia_vocabularies_begin,
          static_cast<std::size_t>(tertulia_vocabularies_end - tertulia_vocabularies_begin)};
}

}  // namespace tertulia
