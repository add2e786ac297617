// How a turn was asked to run, as its journal keeps it: whoever resumes it runs it the same way.
#pragma once

#include "session_desk.h"

namespace tertulia {

// An object; empty if everything is as usual.
JsonText options_form(const Submission& submission);

// Puts what the form says into the options of `submission`. A provider that was switched for the turn cannot
// be written down: the agent's own goes on. kDamaged.
Result<void> read_options_form(const JsonText& form, Submission& submission);

// Of what was asked, in such a form.
std::string body_hash_in(const JsonText& form);

}  // namespace tertulia
