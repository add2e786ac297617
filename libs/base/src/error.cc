#include "tertulia/base/error.h"

#include <algorithm>
#include <utility>

namespace tertulia {

Error::Error(ErrorCode code, std::string sentence)
    : code_(code), body_(std::make_shared<Body>(Body{std::move(sentence), {}})) {}

Error::Body& Error::own_body() {
  if (body_.use_count() != 1) body_ = std::make_shared<Body>(*body_);
  return *body_;
}

const ErrorFact::Value* Error::fact(std::string_view name) const {
  auto found = std::ranges::find(body_->facts, name, &ErrorFact::name);
  return found == body_->facts.end() ? nullptr : &found->value;
}

Error Error::with(std::string name, ErrorFact::Value value) && {
  Body& body = own_body();
  auto found = std::ranges::find(body.facts, name, &ErrorFact::name);
  if (found == body.facts.end()) {
    body.facts.push_back({std::move(name), std::move(value)});
  } else {
    found->value = std::move(value);
  }
  return std::move(*this);
}

Error Error::in(std::string_view where) && {
  own_body().message.insert(0, std::string(where) + ": ");
  return std::move(*this);
}

TertuliaException::TertuliaException(Error error)
    : std::runtime_error(std::string(name_of(error.code())) + ": " + error.message()),
      error_(std::move(error)) {}

}  // namespace tertulia
