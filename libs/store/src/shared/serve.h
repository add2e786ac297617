// What another process asks of a store, done here.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tertulia/store/store.h"

#include "wire.h"

namespace tertulia {

// Reads the question, asks the store, and gives the body of the answer to `answer`, exactly once and from any
// thread. `changed` is called before it with what was changed; a key without a session stands for all of its
// owner. `body` need only live until the call returns. Not for kHello, kHold, kRelease, kBackUp,
// kChanged and kAnswer.
void serve_question(Store& store, Verb verb, std::string_view body,
                    const std::function<void(const SessionKey&)>& changed,
                    const std::function<void(std::string answer)>& answer);

// Whether it changes something.
bool is_change(Verb verb);

}  // namespace tertulia
