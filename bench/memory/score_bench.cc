#include "score_bench.h"

#include "tertulia/conversation/agent_spec.h"

#include "asked_shares.h"
#include "figure.h"

namespace tertulia::bench {
namespace {

void add(trial::Share& sum, const trial::Share& one) {
  sum.found += one.found;
  sum.asked += one.asked;
}

void print_share(const std::string& name, const trial::Share& share, std::string_view goal) {
  print_figure(name, share.percent(), "%", goal,
               std::to_string(share.found) + " of " + std::to_string(share.asked));
}

}  // namespace

void measure_scores(const std::string& name, const std::shared_ptr<Embedder>& embedder) {
  trial::AskedHomes first(trial::kFirstHomes, embedder);
  trial::AskedHomes second(trial::kSecondHomes, embedder);
  const double least = MemoryConfig().semantic_min_score;
  for (const bool hybrid : {false, true}) {
    const std::string which = name + (hybrid ? ", words and meaning" : ", meaning alone");
    const trial::AskedShares apart = second.ask(trial::kSecondStrangers, hybrid, least);
    trial::AskedShares all = first.ask(trial::kFirstStrangers, hybrid, least);
    add(all.fitting, apart.fitting);
    add(all.fitting_long, apart.fitting_long);
    add(all.strangers, apart.strangers);
    add(all.others, apart.others);
    print_share("at 0.75, " + which + ": fitting that pass", all.fitting, ">= 80");
    print_share("at 0.75, " + which + ": of these, pages of 500 tokens", all.fitting_long, "");
    print_share("at 0.75, " + which + ": foreign that find something", all.strangers, "<= 10");
    print_share("at 0.75, " + which + ": meant for other collections, that find something", all.others, "");
    print_share("at 0.75, " + which + ": fitting that pass, kept apart", apart.fitting, "");
    print_share("at 0.75, " + which + ": foreign that find something, kept apart", apart.strangers, "");
  }
}

}  // namespace tertulia::bench
