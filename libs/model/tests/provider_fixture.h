// Providers that speak with a server of the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/model/anthropic.h"
#include "tertulia/model/openai_chat.h"
#include "tertulia/model/openai_responses.h"

#include "raw_server.h"
#include "streams.h"
#include "talk.h"

namespace tertulia::trial {

inline ProviderOptions options_for(const std::string& base_url) {
  return {.base_url = base_url, .key = std::make_shared<const Secret>("sesame"), .proxy = ""};
}

struct ProviderCase {
  std::string name;
  std::string stream;
  std::function<std::shared_ptr<LanguageModel>(const std::string&)> make;
};
inline std::vector<ProviderCase> provider_cases() {
  return {{"chat", streams::chat(),
           [](const std::string& url) { return openai_chat_model({.provider = options_for(url)}); }},
          {"responses", streams::responses(),
           [](const std::string& url) { return openai_responses_model({.provider = options_for(url)}); }},
          {"anthropic", streams::anthropic(),
           [](const std::string& url) { return anthropic_model({.provider = options_for(url)}); }}};
}

inline std::string head(std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + std::string(more) + "\r\n";
}

// As chunks of `step` bytes, with the last one.
inline std::string chunked(std::string_view body, std::size_t step) {
  std::string text;
  for (std::size_t at = 0; at < body.size(); at += step) {
    const std::string_view piece = body.substr(at, step);
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    text += size;
    text += piece;
    text += "\r\n";
  }
  return text + "0\r\n\r\n";
}

inline ModelRequest hello() { return {.model = "m", .view = talk::view_of({talk::user("Hello")})}; }

}  // namespace tertulia::trial
