// Which episodes belong to a question: conversations as one person has them over some months, questions of
// which each belongs to one of them, and questions that belong to none. The floor below which an episode is
// not shown was chosen with the first half of the questions; the second half was kept apart.
#include <array>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/memory/memory.h"
#include "tertulia/store/memory_store.h"

#include "talk_maker.h"

namespace tertulia {
namespace episode_floor_test {

struct Talk {
  std::string_view name;
  std::array<std::pair<std::string_view, std::string_view>, 2> turns;
};

constexpr std::array kTalks = std::to_array<Talk>({
    {"dog",
     {{{"My dog Rex has been limping since we came back from the beach.", "Which leg does he spare?"},
       {"The left front leg. The vet said to rest him for a week.",
        "Then short walks only, and no stairs."}}}},
    {"taxes",
     {{{"I need help with my tax return, I am self-employed since March.",
        "Then you need the form for income."},
       {"Can I deduct the laptop that I bought in May?", "Yes, over three years."}}}},
    {"lisbon",
     {{{"We are planning five days in Lisbon in October with two children.",
        "Belém and the aquarium are good."},
       {"The hotel should be near a tram stop and cost less than 150 euros.", "Alfama fits that."}}}},
    {"bread",
     {{{"My sourdough stays flat, what am I doing wrong?", "Let it rise longer at room temperature."},
       {"I used rye flour and 80 percent water.", "Rye holds less gas, try half wheat."}}}},
    {"exam",
     {{{"I have a statistics exam on the 14th and do not understand p-values.",
        "Imagine the null hypothesis holds."},
       {"So a small p-value means that the data are surprising?", "Exactly, under the null hypothesis."}}}},
    {"guitar",
     {{{"I started to learn the guitar and my fingers hurt.", "That passes after two weeks."},
       {"Which song is easy for a beginner who knows three chords?", "Many folk songs need only three."}}}},
    {"boiler",
     {{{"The boiler loses pressure every two days.", "Look for a leak at the radiators."},
       {"There is a wet spot under the one in the bathroom.", "Then its valve should be replaced."}}}},
    {"novel",
     {{{"I am writing a crime novel that plays in Oslo in 1975.", "Who tells the story?"},
       {"A retired policewoman called Ingrid.", "Give her a secret that the reader knows."}}}},
    {"knee",
     {{{"After running ten kilometres my knee swells.", "Cool it, and rest for some days."},
       {"The marathon is in six weeks, should I go on with the training plan?",
        "Only if it stays without pain."}}}},
    {"garden",
     {{{"Something eats the leaves of my tomatoes at night.", "Probably snails, look after dark."},
       {"I do not want to use poison because of the hedgehogs.", "Then put up a copper band."}}}},
});

struct Question {
  std::string_view text;
  // Empty: none of them.
  std::string_view talk;
};

constexpr std::array kQuestions = std::to_array<Question>({
    {"How is Rex's leg supposed to heal?", "dog"},
    {"What did we say about deducting my computer?", "taxes"},
    {"Which part of the city did you suggest for the hotel?", "lisbon"},
    {"Why did my loaf not rise?", "bread"},
    {"Explain the null hypothesis to me once more.", "exam"},
    {"My fingertips still hurt from the strings.", "guitar"},
    {"The heating has lost pressure again.", "boiler"},
    {"What was the name of my detective?", "novel"},
    {"Can I run again with this knee?", "knee"},
    {"The snails are back on my tomato plants.", "garden"},
    {"Write a regular expression for dates.", ""},
    {"What is the capital of Mongolia?", ""},
    {"Translate 'good evening' into Finnish.", ""},
    {"How do I centre a div?", ""},
    {"Tell me a joke about accountants.", ""},
    {"Add 10 and 20", ""},
    {"Who won the world cup in 1998?", ""},
    {"Please shorten this email to my landlord.", ""},
    {"What rhymes with silver?", ""},
    {"Convert 30 degrees Celsius to Fahrenheit.", ""},
});

constexpr std::array kMoreQuestions = std::to_array<Question>({
    {"Should I still avoid the stairs with the dog?", "dog"},
    {"I bought a desk for work, can I deduct that, too?", "taxes"},
    {"What could we do with the children in Portugal?", "lisbon"},
    {"Which flour should I mix with the rye?", "bread"},
    {"My exam is tomorrow and I forgot what a p-value is.", "exam"},
    {"Is there another song with three chords?", "guitar"},
    {"A plumber is coming to look at the radiator.", "boiler"},
    {"I wrote the first chapter of my novel about Ingrid.", "novel"},
    {"How many weeks are left until the marathon?", "knee"},
    {"What protects plants without harming hedgehogs?", "garden"},
    {"Sort these numbers: 3, 9, 1", ""},
    {"How far away is the moon?", ""},
    {"Which day is it today?", ""},
    {"Suggest a name for a start-up that sells umbrellas.", ""},
    {"What does HTTP 418 mean?", ""},
    {"Give me five synonyms of beautiful.", ""},
    {"Is a whale a fish?", ""},
    {"Draft a birthday message for my aunt.", ""},
    {"Why is the sky blue?", ""},
    {"How do I boil an egg?", ""},
});

struct Shares {
  int right = 0;
  int meant = 0;
  // Questions that belong to none and were shown one.
  int strangers = 0;
  int unrelated = 0;
};

class EpisodeFloorTest : public ::testing::Test {
 protected:
  // One owner has all of the conversations; ten others have one of them each, and the one behind it.
  EpisodeFloorTest() {
    for (std::size_t i = 0; i < kTalks.size(); ++i) {
      tell(kTalks[i], "ada");
      tell(kTalks[i], std::string(kTalks[i].name));
      tell(kTalks[(i + 1) % kTalks.size()], std::string(kTalks[i].name));
      env.sim_clock().advance(std::chrono::hours(24 * 7));
    }
  }

  void tell(const Talk& talk, const std::string& owner) {
    const SessionKey where = key(std::string(talk.name), owner);
    const Time now = env.clock().now();
    Session session;
    session.created_at = now;
    BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
    Commit first{.key = where, .expected = std::nullopt, .conditions = {}, .changes = {}, .time = now};
    first.changes = {PutSession{session}, PutBranch{main}};
    Revision revision = commit(*store, std::move(first)).value();
    for (const auto& [question, answer] : talk.turns) {
      TurnDraft draft{TurnId(UuidMaker(env.clock(), env.random()).make())};
      draft.add(maker.say(Role::kUser, question)).value();
      draft.add(maker.say(Role::kAssistant, answer)).value();
      Commit turn{.key = where, .expected = revision, .conditions = {}, .changes = {}, .time = now};
      turn.changes = {AppendTurn{.branch = main_branch(), .turn = Turn::seal(std::move(draft)).value()}};
      revision = commit(*store, std::move(turn)).value();
    }
    memory.close(where, EndReason::kUserClosed).value();
  }

  template <std::size_t kCount>
  Shares ask(const std::array<Question, kCount>& questions, bool few) {
    Shares shares;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const Question& question = questions[i];
      const std::string_view whose = !few                    ? "ada"
                                     : question.talk.empty() ? kTalks[i % kTalks.size()].name
                                                             : question.talk;
      EpisodeQuery query{.tenant = key("x").tenant,
                         .owner = OwnerId::parse(whose).value(),
                         .question = std::string(question.text)};
      const std::vector<RecalledEpisode> recalled = memory.episodic().recall(query).value();
      if (question.talk.empty()) {
        ++shares.unrelated;
        shares.strangers += recalled.empty() ? 0 : 1;
        for (const RecalledEpisode& one : recalled) print(question, one);
        continue;
      }
      ++shares.meant;
      const bool found = !recalled.empty() && recalled.front().episode.session.text() == question.talk;
      shares.right += found ? 1 : 0;
      if (found) print(question, recalled.front());
      if (!found) std::cout << "not found: " << question.text << "\n";
    }
    return shares;
  }

  static void print(const Question& question, const RecalledEpisode& one) {
    if (std::getenv("TERTULIA_SHOW_SCORES") == nullptr) return;
    std::cout << one.score << "\t" << (question.talk.empty() ? "stranger" : "right") << "\t"
              << one.episode.session.text() << "\t" << question.text << "\n";
  }

  static SessionKey key(const std::string& session, const std::string& owner = "ada") {
    return {TenantId::parse("t").value(), OwnerId::parse(owner).value(), SessionId::parse(session).value()};
  }

  SimEnv env{1};
  std::shared_ptr<Store> store = open_memory_store();
  std::shared_ptr<const Tokenizer> tokenizer = estimating_tokenizer();
  trial::TalkMaker maker{*tokenizer};
  Memory memory{store, env};
};

TEST_F(EpisodeFloorTest, WhatBelongsToAQuestionIsRecalledAndStrangersSeldomAre) {
  for (const bool few : {false, true}) {
    for (const Shares& shares : {ask(kQuestions, few), ask(kMoreQuestions, few)}) {
      EXPECT_GE(shares.right, 9) << "of " << shares.meant;
      EXPECT_LE(shares.strangers, 4) << "of " << shares.unrelated << " questions";
    }
    if (std::getenv("TERTULIA_SHOW_SCORES") != nullptr) std::cout << "few\n";
  }
}

}  // namespace episode_floor_test
}  // namespace tertulia
