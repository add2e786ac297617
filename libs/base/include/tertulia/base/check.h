// TERTULIA_CHECK guards the promises of our own code, with a sentence. It stays on in release builds: a
// program that has broken its own rules stops before it can damage a conversation. Input never triggers it.
#pragma once

#include <string_view>

namespace tertulia {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view sentence);

}  // namespace tertulia

#define TERTULIA_CHECK(condition, sentence)                                 \
  do {                                                                      \
    if (!(condition)) [[unlikely]]                                          \
      ::tertulia::check_failed(__FILE__, __LINE__, #condition, (sentence)); \
  } while (false)
