#include "chat/question_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chat/tool_line.h"

namespace tertulia::cli {
namespace question_form_test {

using testing::ElementsAre;
using testing::HasSubstr;

QuestionForm form(std::string_view properties, std::string_view required = "[]") {
  return QuestionForm(parse_json(R"({"type":"object","properties":)" + std::string(properties) +
                                 R"(,"required":)" + std::string(required) + "}")
                          .value());
}

QuestionForm::Step type(QuestionForm& form, std::string_view text) {
  for (const char c : text) form.key(c);
  return form.key('\r');
}

TEST(QuestionForm, AsksForEachFieldWithWhatTheServerSaysAboutIt) {
  QuestionForm asked = form(R"({"day":{"type":"string","description":"When you come"},
                                "people":{"type":"integer","minimum":1,"maximum":8,"default":2}})",
                            R"(["day"])");
  EXPECT_EQ(asked.prompt(), "day (When you come): ");
  EXPECT_EQ(type(asked, ""), QuestionForm::Step::kMore);
  EXPECT_EQ(asked.prompt(), "day (When you come) – not that: ");
  EXPECT_EQ(type(asked, "Monday"), QuestionForm::Step::kMore);
  EXPECT_EQ(asked.prompt(), "people (a number; Enter for 2): ");
  EXPECT_EQ(type(asked, "9"), QuestionForm::Step::kMore);
  EXPECT_THAT(asked.prompt(), HasSubstr("not that"));
  EXPECT_EQ(type(asked, "4"), QuestionForm::Step::kDone);
  EXPECT_EQ(asked.output(), R"({"day":"Monday","people":4})");
}

TEST(QuestionForm, WhatIsChosenMayBeNamedByItsTitle) {
  QuestionForm asked = form(R"({"hero":{"type":"string","oneOf":[{"const":"h-1","title":"Ada"},
                                                                {"const":"h-2","title":"Grace"}]},
                                "old":{"type":"string","enum":["a","b"],"enumNames":["One","Two"]}})");
  EXPECT_EQ(asked.prompt(), "hero (Ada, Grace; may be empty): ");
  EXPECT_EQ(type(asked, "Eve"), QuestionForm::Step::kMore);
  EXPECT_THAT(asked.prompt(), HasSubstr("not that"));
  type(asked, "Grace");
  EXPECT_EQ(asked.prompt(), "old (One, Two; may be empty): ");
  EXPECT_EQ(type(asked, "b"), QuestionForm::Step::kDone);
  EXPECT_EQ(asked.output(), R"({"hero":"h-2","old":"b"})");
}

TEST(QuestionForm, SeveralAreGivenWithCommas) {
  QuestionForm asked = form(R"({"with":{"type":"array","minItems":1,"maxItems":2,
                                        "items":{"type":"string","enum":["Piano","Bass","Drums"]}}})");
  EXPECT_EQ(asked.prompt(), "with (some of Piano, Bass, Drums; may be empty): ");
  type(asked, "Piano, Bass, Drums");
  EXPECT_THAT(asked.prompt(), HasSubstr("not that"));
  type(asked, "Flute");
  EXPECT_THAT(asked.prompt(), HasSubstr("not that"));
  EXPECT_EQ(type(asked, "Piano ,Drums"), QuestionForm::Step::kDone);
  EXPECT_EQ(asked.output(), R"({"with":["Piano","Drums"]})");
}

TEST(QuestionForm, WhatIsUsualIsSaidInWords) {
  QuestionForm asked =
      form(R"({"hero":{"type":"string","oneOf":[{"const":"h-1","title":"Ada"}],"default":"h-1"},
                                "with":{"type":"array","items":{"enum":["a","b"]},"default":["a","b"]},
                                "sure":{"type":"boolean","default":true}})");
  EXPECT_EQ(asked.prompt(), "hero (Ada; Enter for Ada): ");
  type(asked, "");
  EXPECT_EQ(asked.prompt(), "with (some of a, b; Enter for a, b): ");
  type(asked, "");
  EXPECT_EQ(asked.prompt(), "sure (yes or no; Enter for yes): ");
  EXPECT_EQ(type(asked, ""), QuestionForm::Step::kDone);
  EXPECT_EQ(asked.output(), "{}");
}

TEST(QuestionForm, WhoIsSentToAnAddressOnlySaysThatItIsDone) {
  QuestionForm asked{Json()};
  EXPECT_EQ(asked.prompt(), "Enter when it is done");
  EXPECT_EQ(asked.key('x'), QuestionForm::Step::kMore);
  EXPECT_EQ(asked.key('\r'), QuestionForm::Step::kDone);
  EXPECT_EQ(asked.output(), "{}");
}

TEST(ArgumentLines, ShowWhatIsAllowedFoldedAndSayWhatIsMissing) {
  const Json arguments =
      parse_json(R"({"path":"a.txt","content":"first\nsecond is longer\n\tthird\u001b[2J"})").value();
  EXPECT_THAT(argument_lines(arguments, 24, 10, Output{}),
              ElementsAre("      path     a.txt", "      content  first", "               second is",
                          "                longer", "                 third", "               \\u001b[2J"));
  EXPECT_THAT(argument_lines(arguments, 24, 3, Output{}),
              ElementsAre("      path     a.txt", "      content  first", "               second is",
                          "               … and 18 bytes more: v shows all"));
  EXPECT_THAT(argument_lines(Json("plain"), 24, 3, Output{}), ElementsAre("        plain"));
}

}  // namespace question_form_test
}  // namespace tertulia::cli
