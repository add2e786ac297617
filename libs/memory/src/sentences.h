// Where the sentences of a text end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// Cut at the ends of sentences and lines, each with its last mark and without spaces around it. A full stop
// inside of a word ("3.5", "ada@example.org") ends nothing.
std::vector<std::string> sentences_of(std::string_view text);
// By its mark.
bool is_question(std::string_view sentence);

}  // namespace tertulia
