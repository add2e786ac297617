// What may stand in messages and names, and how large it may be.
#include <string>
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;

// That a turn with this question and answer comes back byte for byte.
void round_trip(Trial& t, const Turn& turn, std::vector<ToolCallRecord> calls = {}) {
  const Revision seen = t.create(key());
  commit(t.store(),
         Trial::of(key(), seen,
                   {AppendTurn{.branch = main_branch(), .turn = turn, .tool_calls = std::move(calls)}}))
      .value();
  for (int i = 0; i < 2; ++i) {
    const std::vector<StoredTurn> read = t.turns(key());
    if (!t.expect(read.size() == 1 && read[0].turn.messages().size() == turn.messages().size(),
                  "the turn is there")) {
      return;
    }
    t.expect(read[0].turn.id() == turn.id(), "with its id");
    for (std::size_t m = 0; m < turn.messages().size(); ++m) {
      t.expect(read[0].turn.messages()[m].block() == turn.messages()[m].block(),
               "each message byte for byte");
    }
    t.reopen();
  }
}

void texts(std::vector<StoreCase>& cases) {
  const std::pair<std::string, std::string> texts[] = {
      {"accents", "Olá, Tertúlia à beira-mar"},
      {"Chinese", "今天天气很好"},
      {"Arabic and Hebrew", "مرحبا שלום"},
      {"emoji with joiners", "👩‍👩‍👧‍👦 🏳️‍🌈"},
      {"combining marks that are not composed", "e\u0301 vs \u00e9"},
      {"control characters", std::string("tab\t newline\n return\r bell\x07 escape\x1b")},
      {"NUL bytes", std::string("a\0b\0\0c", 6)},
      {"line separators", "a\u2028b\u2029c\u0085d"},
      {"JSON in text", R"({"a": "\"}\\", "b": [1,2]})"},
      {"quotes and percent signs", "'; DROP TABLE turns; -- \" %s %n ${x} `id`"},
      {"a byte order mark", "\xEF\xBB\xBFtext"},
      {"noncharacters", "\xEF\xBF\xBE\xEF\xBF\xBF\xF4\x8F\xBF\xBF"},
      {"an empty text", ""},
      {"only spaces", "   "},
  };
  for (const auto& [what, sample] : texts) {
    cases.push_back({"content", "a message may hold " + what, [text = sample](Trial& t) {
                       round_trip(t, Trial::turn(0, text, "answer to " + text));
                     }});
  }
}

void messages(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"content", std::move(name), run}); };
  add("a message of one mebibyte comes back", [](Trial& t) {
    std::string text;
    while (text.size() < (1U << 20U))
      text += "uma linha com acentuação nº " + std::to_string(text.size()) + "\n";
    round_trip(t, Trial::turn(0, text, "short"));
  });
  add("a turn of five hundred messages comes back", [](Trial& t) {
    std::vector<Message> all;
    for (std::uint64_t i = 0; i < 500; ++i) {
      all.push_back(Trial::says(i, i % 2 == 0 ? Role::kUser : Role::kAssistant, "m" + std::to_string(i)));
    }
    round_trip(t, Turn::from_messages(TurnId(Uuid({1})), std::move(all)).value());
  });
  add("a turn with tools comes back",
      [](Trial& t) { round_trip(t, Trial::tool_turn(0), {Trial::tool_call(0)}); });
  add("every field of a message comes back", [](Trial& t) {
    const Message message =
        Message::make(
            {.id = Trial::says(9, Role::kUser, "").id(),
             .role = Role::kAssistant,
             .time = Trial::at(-1'000'000'000),
             .author = "ânimo",
             .origin = Origin::kImport,
             .source = "model-x",
             .source_id = "abc",
             .tokens = Tokens{4'294'967'295},
             .counted = Counted::kO200k,
             .interrupted = true,
             .internal = true,
             .parts = {Part::text_of("one"), Part::reasoning("because", "signature"), Part::text_of("")},
             .extra = R"({"new":1})"})
            .value();
    round_trip(t,
               Turn::from_messages(TurnId(Uuid({2})), {Trial::says(0, Role::kUser, "x"), message}).value());
  });
  add("a system message may open a turn", [](Trial& t) {
    round_trip(t, Turn::from_messages(TurnId(Uuid({3})), {Trial::says(0, Role::kSystem, "be kind"),
                                                          Trial::says(1, Role::kUser, "hi")})
                      .value());
  });
}

void ids(std::vector<StoreCase>& cases) {
  const std::pair<std::string, std::string> names[] = {
      {"128 bytes long", std::string(128, 'x')},
      {"one byte long", "x"},
      {"made of every legal character", "AZaz09._~-"},
      {"like a path of two dots inside", "a..b"},
      {"like the beginning of a device name", "CONSOLE"},
      {"like a hidden file's end", "a."},
      {"only tildes", "~~~"},
      {"like an option", "--help"},
      {"like a number", "0123"},
      {"like SQL", "-select-"},
  };
  for (const auto& [what, sample] : names) {
    cases.push_back({"ids", "a session id may be " + what, [name = sample](Trial& t) {
                       const SessionKey named = Trial::key(name);
                       t.create_with_turns(named, 1);
                       t.reopen();
                       t.expect(t.numbers(named).size() == 2, "it is found under its id");
                       t.expect(t.state(named).session.id.text() == name, "and has it");
                     }});
    cases.push_back({"ids", "owner tenant and branch may be " + what, [name = sample](Trial& t) {
                       const SessionKey named = Trial::key("s", name, name);
                       Revision seen = t.create_with_turns(named, 1);
                       seen = t.fork(named, seen, "main", 0, name).value();
                       t.append(named, seen, Trial::turn(10), name).value();
                       t.reopen();
                       t.expect(t.numbers(named, name) == std::vector<std::uint64_t>{0, 10, 11},
                                "it is found");
                     }});
  }
  const auto add = [&](std::string name, auto run) { cases.push_back({"ids", std::move(name), run}); };
  add("ids that differ in their last byte are different", [](Trial& t) {
    const std::string stem(127, 'x');
    for (const char last : {'a', 'b', 'c'}) t.create_with_turns(Trial::key(stem + last), 1);
    t.append(Trial::key(stem + "b"), Revision{2}, Trial::turn(10)).value();
    t.expect(t.numbers(Trial::key(stem + "a")).size() == 2, "a has two");
    t.expect(t.numbers(Trial::key(stem + "b")).size() == 4, "b has four");
  });
  add("ids do not run into each other", [](Trial& t) {
    t.create_with_turns(Trial::key("c", "b", "a"), 1);
    t.refused(load(t.store(), Trial::key("b", "c", "a")), ErrorCode::kNoSession,
              "owner and session exchanged");
    t.refused(load(t.store(), Trial::key("bc", "b", "a")), ErrorCode::kNoSession, "a longer id");
    t.refused(load(t.store(), Trial::key("c", "a", "b")), ErrorCode::kNoSession,
              "tenant and owner exchanged");
  });
  add("branches that differ in case are different", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 0, "Alt").value();
    seen = t.fork(key(), seen, "main", 1, "alt").value();
    seen = t.fork(key(), seen, "main", 1, "MAIN").value();
    t.reopen();
    t.expect(t.numbers(key(), "Alt").size() == 1 && t.numbers(key(), "alt").size() == 2, "case counts");
    t.drop(key(), seen, {Trial::branch("MAIN")}).value();
    t.expect(t.numbers(key(), "main").size() == 2, "MAIN is not main");
  });
  add("a key without its parts is refused", [](Trial& t) {
    Commit commit = Trial::first(key());
    commit.key.owner = {};
    t.refused(tertulia::commit(t.store(), commit), ErrorCode::kMissingField, "a key without owner");
    commit.key = {.tenant = key().tenant, .owner = key().owner, .session = {}};
    t.refused(tertulia::commit(t.store(), commit), ErrorCode::kMissingField, "a key without session");
  });
}

}  // namespace

void add_content_cases(std::vector<StoreCase>& cases) {
  texts(cases);
  messages(cases);
  ids(cases);
}

}  // namespace tertulia
