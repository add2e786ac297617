// Token counting on one thread.
//
//   bench_text CORPUS_DIR [RIVAL_JSON]
//
// CORPUS_DIR is what make_corpus.mjs writes, RIVAL_JSON what tokens_rival.mjs prints for the same files.
// run.sh does both and then calls this.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <time.h>

#include "tertulia/base/json.h"
#include "tertulia/text/tokenizer.h"

#include "figure.h"
#include "timing.h"

namespace {

using tertulia::Json;
using tertulia::Tokenizer;
using tertulia::bench::keep;
using tertulia::bench::print_figure;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Of this thread: what else a shared machine does is no property of ours or of the rival's, measured alike.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The best of several rounds.
double seconds_to_count(const Tokenizer& tokenizer, const std::string& text, int rounds = 7) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double start = cpu_seconds();
    keep(tokenizer.count(text));
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

double megabytes_a_second(const Tokenizer& tokenizer, const std::string& text) {
  return static_cast<double>(text.size()) / seconds_to_count(tokenizer, text) / 1e6;
}

const Json* member(const Json* value, std::string_view key) {
  return value && value->as_object() ? value->as_object()->find(key) : nullptr;
}

double number(const Json* value) {
  if (!value) return 0;
  if (const auto* real = std::get_if<double>(&value->variant())) return *real;
  return value->as_int() ? static_cast<double>(*value->as_int()) : 0;
}

struct Corpus {
  std::string name;
  std::string goal;
};

const std::vector<Corpus> kCorpora = {{"english", ">= 15"}, {"code", ">= 15"},         {"json", ">= 15"},
                                      {"chinese", ">= 10"}, {"multilingual", ">= 10"}, {"mixed", ">= 10"}};

bool measure_corpora(const Tokenizer& tokenizer, const std::string& folder, const Json& rivals) {
  for (const Corpus& corpus : kCorpora) {
    const std::string text = content_of(folder + "/" + corpus.name + ".txt");
    if (text.empty()) {
      std::cerr << "bench_text: no corpus " << corpus.name << " in " << folder << "\n";
      return false;
    }
    const double ours = megabytes_a_second(tokenizer, text);
    print_figure("tokens.count." + corpus.name, ours, "MB/s", "", "");
    const Json* rival = member(&rivals, corpus.name);
    if (!rival) continue;
    const double theirs = number(member(rival, "speed"));
    print_figure("tokens.count." + corpus.name + ".rival", theirs, "MB/s", "", "npm tiktoken 1.0.22 (wasm)");
    print_figure("tokens.count." + corpus.name + ".ratio", ours / theirs, "x", corpus.goal,
                 "npm tiktoken 1.0.22 (wasm)");
    if (number(member(rival, "tokens")) != static_cast<double>(tokenizer.count(text))) {
      std::cerr << "bench_text: the counts of " << corpus.name << " differ\n";
      return false;
    }
  }
  return true;
}

// A million bytes of one thing, beside a million bytes of prose.
void measure_runs(const Tokenizer& tokenizer, const std::string& prose) {
  const double base = seconds_to_count(tokenizer, prose.substr(0, 1'000'000));
  const std::vector<std::pair<std::string, std::string>> runs = {
      {"letter", "a"}, {"space", " "},          {"newline", "\n"}, {"digit", "7"},
      {"dash", "-"},   {"emoji", "\U0001F602"}, {"han", "\u4E2D"}, {"combining_mark", "\u0301"}};
  for (const auto& [name, unit] : runs) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    print_figure("tokens.run." + name, seconds_to_count(tokenizer, text) / base, "x", "<= 3",
                 "1 MB of english prose");
  }
}

void measure_stream(const Tokenizer& tokenizer, const std::string& prose) {
  const auto counter = tokenizer.new_stream();
  const std::string text = prose.substr(0, 400'000);
  const double start = cpu_seconds();
  std::size_t appends = 0;
  for (std::size_t at = 0; at < text.size(); at += 4, ++appends) {
    counter->append(std::string_view(text).substr(at, 4));
    keep(counter->total());
  }
  print_figure("tokens.stream.append", (cpu_seconds() - start) / static_cast<double>(appends) * 1e9, "ns", "",
               "4 bytes and the exact total");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: bench_text CORPUS_DIR [RIVAL_JSON]\n";
    return 2;
  }
  const double start = cpu_seconds();
  const auto tokenizer = tertulia::tokenizer_named("o200k_base").value();
  print_figure("tokens.load.o200k_base", (cpu_seconds() - start) * 1e3, "ms", "<= 30",
               "the first use in a process");
  const std::string folder = argv[1];
  Json rivals;
  if (argc > 2) rivals = tertulia::parse_json(content_of(argv[2])).value();
  if (!measure_corpora(*tokenizer, folder, rivals)) return 1;
  const std::string prose = content_of(folder + "/english.txt");
  measure_runs(*tokenizer, prose);
  measure_stream(*tokenizer, prose);
  return 0;
}
