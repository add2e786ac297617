// A RequestReader: bytes in, requests out. It does no I/O.
//
//   RequestReader reader(limits);
//   reader.read(buffer)    until the head is there: Step::kHead, then request() has everything but the body
//   reader.want_body(…)    then read() until Step::kDone
//
// What is not HTTP, or could be read in two ways, is a Problem: the connection cannot be used any further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/system/error_code.hpp>

#include "http/problem.h"
#include "http/request.h"

namespace tertulia::server {

struct HeadLimits {
  std::size_t head_bytes = 16U << 10U;
  std::size_t fields = 64;
  std::size_t target_bytes = 8U << 10U;
};

class RequestReader {
 public:
  enum class Step : std::uint8_t {
    kMore,     // more bytes are needed
    kHead,     // the head is complete
    kDone,     // the body too
    kProblem,  // problem() says what is wrong
  };

  explicit RequestReader(const HeadLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes what it can use of `bytes` and says how much. Before the head is complete it takes all or nothing
  // of it, and request() refers to `bytes` from then on: they must stay where they are.
  Step read(std::string_view bytes, std::size_t& taken);
  // Says how long the body may be. After the head, before reading on.
  void want_body(std::uint64_t limit);
  // For the next request.
  void reset();

  Request& request();
  const Problem& problem() const;
  bool keep_alive() const;
  bool has_body() const;
  // As the head says; 0 if it does not.
  std::uint64_t length() const;

 private:
  class Parser;
  Step read_head(std::string_view bytes, std::size_t& taken);
  Step read_length(std::string_view bytes, std::size_t& taken);
  Step read_chunks(std::string_view bytes, std::size_t& taken);
  Step failed(const boost::system::error_code& code);

  HeadLimits limits_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tertulia::server
