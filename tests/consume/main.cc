// A program of somebody else's: it sees only what is installed.
#include <iostream>

#include <tertulia/base/env.h>
#include <tertulia/base/version.h>
#include <tertulia/conversation/transcript.h>
#include <tertulia/text/tokenizer.h>

int main() {
  using namespace tertulia;
  UuidMaker ids(real_env().clock(), real_env().random());
  const Message hello =
      Message::text(MessageId(ids.make()), Role::kUser, "Hello from outside", real_env().clock().now())
          .value();
  TurnDraft draft{TurnId(ids.make())};
  draft.add(hello).value();
  Transcript transcript;
  transcript.append(Turn::seal(draft).value(), Revision{1});
  const auto tokens = tokenizer_named("o200k_base").value()->count(transcript[0].text_content());
  std::cout << "tertulia " << version() << ": " << transcript.size() << " message, " << tokens << " tokens\n";
  return transcript.size() == 1 && tokens == 3 ? 0 : 1;
}
