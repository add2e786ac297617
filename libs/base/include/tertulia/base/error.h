// An Error: a code for the caller, a sentence for a person, facts for a program.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tertulia/base/error_code.h"

namespace tertulia {

// One fact beside the sentence: {"limit", 64}, {"current", 7}, {"branches", ["main", "formal"]}.
struct ErrorFact {
  using Value = std::variant<std::int64_t, std::string, std::vector<std::string>>;

  std::string name;
  Value value;

  bool operator==(const ErrorFact&) const = default;
};

// Says what happened, where, what the limit was and what to do. Never holds secrets or raw bytes of input.
//
// Cheap to return: one pointer beside the code. Copies share the text until one of them adds to it.
class Error {
 public:
  Error(ErrorCode code, std::string sentence);

  ErrorCode code() const { return code_; }

  // The sentence with its context: "load session 'x': read branch 'main': record 3 is damaged".
  const std::string& message() const { return body_->message; }

  const std::vector<ErrorFact>& facts() const { return body_->facts; }

  // The fact of this name, or null.
  const ErrorFact::Value* fact(std::string_view name) const;

  // Adds a fact. A second fact of the same name replaces the first.
  Error with(std::string name, ErrorFact::Value value) &&;

  // Adds where it happened, in front: error.in("load session 'x'").
  Error in(std::string_view where) &&;

 private:
  struct Body {
    std::string message;
    std::vector<ErrorFact> facts;
  };
  Body& own_body();

  ErrorCode code_;
  std::shared_ptr<Body> body_;
};

// What Result::value() throws when there is no value: the second way out, for scripts and tests.
class TertuliaException : public std::runtime_error {
 public:
  explicit TertuliaException(Error error);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace tertulia
