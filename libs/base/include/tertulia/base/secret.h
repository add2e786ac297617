// A Secret: text that cannot be printed, logged, formatted or written as JSON by accident.
//
// It has no operator<<, no conversion and no accessor but reveal(): search for that word to see every place
// where a secret leaves its box.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tertulia {

// Overwrites the bytes in a way that the compiler keeps, and empties the text.
void wipe(std::string& text);

// Its memory is overwritten when it is destroyed. Moving leaves nothing behind.
class Secret {
 public:
  Secret() = default;
  // Copies; what the caller has stays the caller's business.
  explicit Secret(std::string_view text);
  // Copies, and wipes what the caller had.
  static Secret take(std::string&& text);

  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  Secret copy() const { return Secret(reveal()); }

  bool empty() const { return size_ == 0; }
  // Valid as long as this object holds it.
  std::string_view reveal() const { return {bytes_.get(), size_}; }

  // Takes the same time wherever the texts differ. An empty secret matches nothing, not even an empty text:
  // a key that was never set must not open a door.
  bool matches(std::string_view other) const;
  bool matches(const Secret& other) const { return matches(other.reveal()); }

 private:
  void clear();

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace tertulia
