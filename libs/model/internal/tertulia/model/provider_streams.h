// The streams of the providers, as parsers without sockets.
#pragma once

#include <memory>
#include <string>

#include "tertulia/model/answer_builder.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// `model` stands in the response if the provider does not name one.
std::unique_ptr<StreamParser> openai_chat_stream(std::string model, OnDelta on_delta,
                                                 AnswerLimits limits = {});

// `keeps` says that the provider stores the response, so that its id can be gone on from; `conversation` is
// the conversation it belongs to, if it has one.
std::unique_ptr<StreamParser> openai_responses_stream(std::string model, bool keeps, std::string conversation,
                                                      OnDelta on_delta, AnswerLimits limits = {});

// A call of `answer_tool`, if that is not empty, is the answer itself: its arguments are told as text.
std::unique_ptr<StreamParser> anthropic_stream(std::string model, std::string answer_tool, OnDelta on_delta,
                                               AnswerLimits limits = {});

}  // namespace tertulia
