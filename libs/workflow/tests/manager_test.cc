// The ConversationManager by itself: projections, cursors, policies, and what a run makes of its input.
#include "tertulia/store/conversation_store.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "workflow_fixture.h"

namespace tertulia {
namespace manager_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ManagerTest : public WorkflowTest {
 protected:
  UuidMaker uuids{real_env().clock(), real_env().random()};

  Message message(Role role, const std::string& author, const std::string& text, bool internal = false) {
    return Message::make({.id = MessageId(uuids.make()),
                          .role = role,
                          .time = Time{},
                          .author = author,
                          .tokens = Tokens{10},
                          .internal = internal,
                          .parts = {Part::text_of(text)}})
        .value();
  }
  Turn turn_of(std::vector<Message> messages) {
    return Turn::from_messages(TurnId(uuids.make()), std::move(messages)).value();
  }
  // user, a, b, user, each a turn of its own.
  ConversationManager manager() {
    Branch branch;
    branch.id = BranchId::parse("main").value();
    std::uint64_t revision = 0;
    for (const Message& one : {message(Role::kUser, "", "One."), message(Role::kAssistant, "a", "Two."),
                               message(Role::kAssistant, "b", "Three."), message(Role::kUser, "", "Four.")}) {
      branch.transcript.append(turn_of({one}), Revision{++revision});
    }
    return {Session(), branch, 0, 1};
  }
  static std::vector<std::string> texts_of(const std::vector<Message>& messages) {
    std::vector<std::string> texts;
    for (const Message& one : messages)
      texts.push_back(std::string(name_of(one.role())) + ": " + one.text_content());
    return texts;
  }
  static std::vector<std::string> history_of(const ConversationView& view) {
    return texts_of(View(view.history).to_vector());
  }
};

TEST_F(ManagerTest, AFullViewHasItsOwnWordsAsItsOwnAndOthersByName) {
  const ConversationManager all = manager();
  const ConversationView view = all.view_for("a").value();
  EXPECT_THAT(history_of(view), ElementsAre("assistant: Two."));
  EXPECT_THAT(texts_of(view.delta), ElementsAre("user: One.", "user: b: Three.", "user: Four."));
  EXPECT_EQ(view.applied, 4U);
}

TEST_F(ManagerTest, ADeltaHoldsOnlyWhatCameSinceTheCursor) {
  ConversationManager all = manager();
  ThreadBinding binding = all.resolve_thread("a");
  EXPECT_TRUE(binding.is_local());
  EXPECT_EQ(binding.applied, 0U);
  binding.applied = 2;
  all.bind(binding);
  ConversationPolicy policy;
  policy.context = ContextMode::kDelta;
  all.set_policy("a", policy);
  const ConversationView view = all.view_for("a").value();
  EXPECT_THAT(history_of(view), IsEmpty());
  EXPECT_THAT(texts_of(view.delta), ElementsAre("user: b: Three.", "user: Four."));
  // Others have their own policies and cursors.
  EXPECT_THAT(texts_of(all.view_for("b").value().delta),
              ElementsAre("user: One.", "user: a: Two.", "user: Four."));
}

TEST_F(ManagerTest, AViewOfRolesHasOnlyThese) {
  ConversationManager all = manager();
  ConversationPolicy policy;
  policy.roles = {Role::kUser};
  all.set_policy("a", policy);
  EXPECT_THAT(texts_of(all.view_for("a").value().delta), ElementsAre("user: One.", "user: Four."));
}

TEST_F(ManagerTest, ABudgetKeepsTheNewest) {
  ConversationManager all = manager();
  ConversationPolicy policy;
  policy.max_tokens = Tokens{25};
  all.set_policy("a", policy);
  EXPECT_THAT(texts_of(all.view_for("a").value().delta), ElementsAre("user: b: Three.", "user: Four."));
}

TEST_F(ManagerTest, WhatPlumbingSaidIsShownOnlyIfAskedFor) {
  ConversationManager all = manager();
  all.committed(turn_of({message(Role::kUser, "", "plumbing", true)}), Revision{5});
  ConversationPolicy policy;
  policy.context = ContextMode::kDelta;
  all.set_policy("a", policy);
  EXPECT_THAT(texts_of(all.view_for("a").value().delta),
              ElementsAre("user: One.", "user: b: Three.", "user: Four."));
  policy.show_internal = true;
  all.set_policy("a", policy);
  EXPECT_THAT(texts_of(all.view_for("a").value().delta),
              ElementsAre("user: One.", "user: b: Three.", "user: Four.", "user: plumbing"));
}

TEST_F(ManagerTest, TheCursorMovesByWhatWasDeliveredAndNeverPastWhatOthersWroteMeanwhile) {
  ConversationManager all = manager();
  const ConversationView view = all.view_for("a").value();
  // Somebody else is quicker.
  all.committed(turn_of({message(Role::kAssistant, "b", "Five.")}), Revision{5});
  ThreadBinding binding = all.resolve_thread("a");
  const Message said = message(Role::kAssistant, "whoever", "Six.");
  const std::vector<Message> merged = all.merge_response(binding, view, {view.delta.back(), said}).value();
  ASSERT_THAT(merged, SizeIs(1)) << "what it was given is not its own";
  EXPECT_EQ(merged[0].author(), "a");
  EXPECT_EQ(merged[0].id(), said.id());
  EXPECT_EQ(binding.applied, 4U);
  all.bind(binding);
  all.committed(turn_of({merged[0]}), Revision{6});
  EXPECT_THAT(texts_of(all.view_for("a", ThreadKind::kOwn).value().delta), ElementsAre("user: b: Five."));
}

TEST_F(ManagerTest, WhoHasBeenGivenEverythingIsAskedToGoOn) {
  ConversationManager all = manager();
  ThreadBinding binding = all.resolve_thread("a");
  binding.applied = 4;
  all.bind(binding);
  EXPECT_THAT(texts_of(all.view_for("a").value().delta), ElementsAre("user: Continue."));
}

TEST_F(ManagerTest, ALocalThreadNeedsNoReplay) {
  const ConversationManager all = manager();
  ThreadBinding binding = all.resolve_thread("a");
  ConversationView view = all.view_for("a").value();
  const std::vector<Message> before = view.delta;
  ASSERT_TRUE(all.replay_to_thread(binding, view, {}));
  EXPECT_EQ(view.delta, before);
  EXPECT_TRUE(binding.is_local());
}

TEST_F(ManagerTest, APolicyOfARunIsForOneParticipantAndStandsInItsProfile) {
  auto a = scripted_model({ModelStep().say("1"), ModelStep().say("2")});
  auto b = scripted_model({ModelStep().say("1"), ModelStep().say("2")});
  const Workflow workflow =
      SequentialBuilder().add(agent_with("a", a)).add(agent_with("b", b)).build().value();
  workflows->run(workflow, "one", {.session = "s"}).result().value();
  ConversationPolicy users;
  users.roles = {Role::kUser};
  const WorkflowOutcome outcome =
      workflows->run(workflow, "two", {.session = "s", .policies = {{"b", users}}}).result().value();
  EXPECT_THAT(seen_by(a->requests().at(1)),
              ElementsAre("user: one", "assistant: 1", "user: b: 1", "user: two"));
  EXPECT_THAT(seen_by(b->requests().at(1)), ElementsAre("user: one", "user: two"));
  const Session session = load(*store, outcome.key).value().session;
  ASSERT_THAT(session.participants, SizeIs(2));
  EXPECT_EQ(session.participants[0].policy, ConversationPolicy());
  EXPECT_EQ(session.participants[1].policy, users);
  EXPECT_EQ(session.participants[1].agent.text(), "b");
}

TEST_F(ManagerTest, AttachmentsComeWithTheEntryAndStayWithTheSession) {
  Attachment brief;
  brief.name = "brief";
  brief.media_type = "application/json";
  brief.data = JsonText::of(JsonObject{{"tone", "dry"}});
  Node reads = make_node<ConversationUpdate>("reads", [](const ConversationUpdate&, NodeContext& context) {
    for (const Attachment& one : context.conversation().session().attachments)
      context.output(one.name + " " + one.data.text());
  });
  const Workflow workflow = WorkflowBuilder("w").add(reads).start("reads").build().value();
  const WorkflowOutcome first =
      workflows->run(workflow, "Go.", {.session = "s", .attachments = {brief}}).result().value();
  EXPECT_THAT(outputs_of(first), ElementsAre(R"(reads: brief {"tone":"dry"})"));
  restart();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "Again.", {.session = "s"}).result().value()),
              ElementsAre(R"(reads: brief {"tone":"dry"})"));
}

TEST_F(ManagerTest, ARunIsBegunWithATextAMessageSeveralOrAHandle) {
  const auto build = [] { return SequentialBuilder().add(saying("a", {"Yes."})).build().value(); };
  const auto said = [&](WorkflowInput input) {
    return lines_of(workflows->run(build(), std::move(input)).result().value().snapshot.transcript);
  };
  EXPECT_THAT(said("Text."), ElementsAre("user: Text.", "a: Yes."));
  EXPECT_THAT(said(message(Role::kUser, "", "One.")), ElementsAre("user: One.", "a: Yes."));
  EXPECT_THAT(
      said(std::vector<Message>{message(Role::kUser, "", "One."), message(Role::kAssistant, "old", "Two."),
                                message(Role::kUser, "", "Three.")}),
      ElementsAre("user: One.", "old: Two.", "user: Three.", "a: Yes."));
  const WorkflowOutcome first = workflows->run(build(), "Text.").result().value();
  const WorkflowOutcome more =
      workflows->run(build(), {}, {.handle = first.snapshot.handle}).result().value();
  EXPECT_THAT(lines_of(more.snapshot.transcript), ElementsAre("user: Text.", "a: Yes.", "a: Yes."));
}

TEST_F(ManagerTest, AConversationIsWrittenReadBackAndGoneOnWith) {
  auto model = scripted_model({ModelStep().say("One."), ModelStep().say("Two.")});
  const Workflow workflow = SequentialBuilder().add(agent_with("a", model)).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  Conversation whole = load_conversation(*store, first.key).value();
  EXPECT_THAT(whole.session.bindings, SizeIs(1));
  EXPECT_EQ(whole.session.bindings[0].applied, 1U);
  // Into another store, as a custom one would have it.
  store = open_memory_store();
  whole.session.revision = {};
  ASSERT_TRUE(save_conversation(*store, real_env().clock(), whole));
  restart();
  workflows->run(workflow, "On.", {.session = "s"}).result().value();
  EXPECT_THAT(seen_by(model->requests().at(1)), ElementsAre("user: Go.", "assistant: One.", "user: On."));
}

TEST_F(ManagerTest, AHandleOfAnotherTenantOpensNothing) {
  const Workflow workflow = SequentialBuilder().add(saying("a", {"One."})).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "Go.").result().value();
  EXPECT_EQ(
      code_of(workflows->run(workflow, "On.",
                             {.handle = first.snapshot.handle, .tenant = TenantId::parse("other").value()})),
      ErrorCode::kInvalidHandle);
}

TEST_F(ManagerTest, ThePlumbingOfAConversationGivesOutWhatItsPolicyShows) {
  ConversationPolicy policy;
  policy.roles = {Role::kAssistant};
  const Node agent = agent_node(saying("a", {"Yes."}));
  const Workflow workflow = WorkflowBuilder("w")
                                .add(conversation_entry())
                                .add(agent)
                                .add(conversation_projection("shown", policy))
                                .start("conversation-entry")
                                .edge("conversation-entry", "a")
                                .edge("a", "shown")
                                .output_from({"shown"})
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "Go.").result().value()),
              ElementsAre(R"(shown: [{"role":"assistant","author":"a","text":"Yes."}])"));
}

TEST_F(ManagerTest, WordsAreShownAsTheyComeAndStandInTheTranscriptWithTheCommit) {
  ModelGate gate;
  auto model = scripted_model({ModelStep().say("Half ").wait(gate).say("done.")});
  const Workflow workflow = SequentialBuilder().add(agent_with("a", model)).build().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  std::string told;
  while (told.empty()) {
    const std::optional<Event> event = run.next();
    ASSERT_TRUE(event);
    if (event->kind == EventKind::kTextDelta) told = event->text;
  }
  EXPECT_EQ(told, "Half ");
  const SessionKey key = local_key(SessionId::parse("s").value());
  const auto stored = [&] {
    return lines_of(load_branch(*store, key, load(*store, key).value().branches.at(0)).value().transcript);
  };
  EXPECT_THAT(stored(), ElementsAre("user: Go."));
  gate.open();
  run.result().value();
  EXPECT_THAT(stored(), ElementsAre("user: Go.", "a: Half done."));
}

}  // namespace manager_test
}  // namespace tertulia
