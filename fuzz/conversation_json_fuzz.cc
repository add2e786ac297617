// Whatever the bytes: each form is read or refused with a sentence, and what is read is written, read again
// and written again as the same text. The first byte chooses the form; the same text is also tried as a
// handle.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "tertulia/base/check.h"
#include "tertulia/conversation/handle.h"
#include "tertulia/conversation/json_forms.h"

namespace {

using namespace tertulia;

template <class T>
void try_form(std::string_view text) {
  const Result<T> value = parse_form<T>(text);
  if (!value) {
    TERTULIA_CHECK(!value.error().message().empty(), "an error has a sentence");
    return;
  }
  const std::string once = to_json(*value);
  const Result<T> again = parse_form<T>(once);
  TERTULIA_CHECK(again.ok(), "what was written can be read");
  if constexpr (requires { *again == *value; }) TERTULIA_CHECK(*again == *value, "it is the same value");
  TERTULIA_CHECK(to_json(*again) == once, "it is the same text");
  if constexpr (std::is_same_v<T, TurnJournal>) {
    const auto folded = fold_journal(value->entries);
    TERTULIA_CHECK(folded.ok() || folded.error().code() == ErrorCode::kDamaged,
                   "a journal folds or is damaged");
  }
}

using TryForm = void (*)(std::string_view);
constexpr TryForm kForms[] = {
#define TERTULIA_X(Type) try_form<Type>,
    TERTULIA_FORMS(TERTULIA_X)
#undef TERTULIA_X
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  kForms[data[0] % std::size(kForms)](text);
  TERTULIA_CHECK(!decode_handle(text, HandleKey{1}, {}, Time()).ok(), "nobody guesses a signature");
  return 0;
}
