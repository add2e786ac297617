// Many lives of a program that is started once. `PROGRAM lives` reads a life from each line of standard input
// and forks a process that lives it, as if the program had been started with those words: what a start costs,
// most of it for libraries, is paid once. The process that forks opens nothing and has no threads, so a life
// begins with nothing of another.
//
//   KILL_AT<tab>WORD<tab>WORD…    a life; KILL_AT is the value of TERTULIA_KILL_AT, 0 for none
//   life PID                      it has begun; what it says follows
//   ended exit CODE               it has ended by itself
//   ended signal NUMBER           it was killed
//
// lives.mjs is the other end.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace tertulia {

namespace lives {

inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == '\t') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

inline void tell(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) std::_Exit(3);
}

}  // namespace lives

// `life` has the words of a command line, the first of which is the name of the program.
template <class Life>
int live_lives(Life life) {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> words = lives::words_of(line);
    const std::string kill_at = std::exchange(words[0], "life");
    const pid_t child = ::fork();
    if (child < 0) return 3;
    if (child == 0) {
      ::close(STDIN_FILENO);
      if (kill_at != "0") ::setenv("TERTULIA_KILL_AT", kill_at.c_str(), 1);
      lives::tell("life " + std::to_string(::getpid()));
      std::exit(life(words));
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const bool killed = WIFSIGNALED(status);
    lives::tell(std::string("ended ") + (killed ? "signal " : "exit ") +
                std::to_string(killed ? WTERMSIG(status) : WEXITSTATUS(status)));
  }
  return 0;
}

// The main() of a program that lives one life, or many.
template <class Life>
int live_one_or_many(int argc, char** argv, Life life) {
  const std::vector<std::string> words(argv, argv + argc);
  return words.size() == 2 && words[1] == "lives" ? live_lives(life) : life(words);
}

}  // namespace tertulia
