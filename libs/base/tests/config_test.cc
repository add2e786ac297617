#include "tertulia/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"

namespace tertulia {
namespace config_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFile = "/home/ada/.config/tertulia/config.toml";

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    environment_ = {{"HOME", "/home/ada"}};
    env_.files().make_directory("/home/ada/.config/tertulia").value();
  }

  Settings settings() const {
    Settings all;
    add_base_settings(all, environment_);
    all.add(Setting::boolean("store.verify", true, "Check what is read."));
    all.add(Setting::integer("store.group", 64, 1, 4096, "Turns per commit."));
    all.add(Setting::duration("turn.timeout", 10min, 1s, 24h, "How long a turn may take."));
    all.add(Setting::size("store.cache", 4 << 20, 0, 1LL << 40U, "Memory for pages."));
    all.add(Setting::string("name", "tertulia", "What it calls itself."));
    all.add(Setting::strings("server.origins", {}, "Who may call."));
    all.add(Setting::secret("model.key", "The provider's key."));
    return all;
  }

  void write(const Path& path, std::string_view text) {
    write_file_atomically(env_.files(), path, text).value();
  }

  Result<Config> load() {
    return load_config(settings(), env_.files(),
                       {.file = file_, .environment = environment_, .flags = flags_});
  }
  Result<Config> load(std::string_view toml) {
    write(kFile, toml);
    return load();
  }
  // What is wrong with this file, one problem after the other.
  std::vector<std::string> problems(std::string_view toml) {
    write(kFile, toml);
    return problems();
  }
  std::vector<std::string> problems() {
    const Result<Config> config = load();
    if (config) return {};
    EXPECT_EQ(config.error().code(), ErrorCode::kBadConfig);
    return std::get<std::vector<std::string>>(*config.error().fact("problems"));
  }
  std::string at(const char* place) const { return std::string(kFile) + ":" + place + ": "; }

  SimEnv env_{1};
  std::optional<Path> file_;
  Environment environment_;
  std::vector<std::pair<std::string, std::string>> flags_;
};

TEST_F(ConfigTest, WithoutSourcesEverythingHasItsDefault) {
  const Config config = load().value();
  EXPECT_EQ(config.path("data"), "/home/ada/.local/share/tertulia");
  EXPECT_EQ(config.string("log.level"), "warn");
  EXPECT_TRUE(config.boolean("store.verify"));
  EXPECT_EQ(config.duration("turn.timeout"), 10min);
  EXPECT_EQ(config.secret("model.key"), nullptr);
  EXPECT_FALSE(config.file());
}

TEST_F(ConfigTest, EveryTypeIsReadFromTheFile) {
  const Config config = load(R"(
name = "Ada's"
data = "/srv/data"
log.level = "debug"
[store]
verify = false
group = 7
cache = "2GiB"
[turn]
timeout = "90s"
[server]
origins = ["a", "b"]
[model]
key = "k"
)")
                            .value();
  EXPECT_EQ(config.string("name"), "Ada's");
  EXPECT_EQ(config.path("data"), "/srv/data");
  EXPECT_EQ(config.string("log.level"), "debug");
  EXPECT_FALSE(config.boolean("store.verify"));
  EXPECT_EQ(config.integer("store.group"), 7);
  EXPECT_EQ(config.size("store.cache"), 2LL << 30U);
  EXPECT_EQ(config.duration("turn.timeout"), 90s);
  EXPECT_THAT(config.strings("server.origins"), ElementsAre("a", "b"));
  EXPECT_EQ(config.secret("model.key")->reveal(), "k");
  EXPECT_EQ(config.file(), kFile);
}

TEST_F(ConfigTest, TheEnvironmentBeatsTheFileAndAFlagBeatsBoth) {
  environment_["TERTULIA_STORE_GROUP"] = "8";
  environment_["TERTULIA_LOG_LEVEL"] = "info";
  environment_["TERTULIA_STORE_VERIFY"] = "0";
  environment_["TERTULIA_SERVER_ORIGINS"] = "x,y";
  environment_["TERTULIA_NAME"] = "";
  flags_ = {{"log.level", "off"}};
  const Config config = load("name = 'n'\nlog.level = 'debug'\nstore.group = 7\n").value();
  EXPECT_EQ(config.integer("store.group"), 8);
  EXPECT_EQ(config.string("log.level"), "off");
  EXPECT_FALSE(config.boolean("store.verify"));
  EXPECT_THAT(config.strings("server.origins"), ElementsAre("x", "y"));
  EXPECT_EQ(config.string("name"), "n") << "an empty variable is not set";
}

TEST_F(ConfigTest, ExplainTellsWhereEachValueCameFrom) {
  environment_["TERTULIA_LOG_LEVEL"] = "info";
  flags_ = {{"turn.timeout", "5s"}};
  const Config config = load("[store]\ngroup = 7\n[model]\nkey = 'hunter2'\n").value();
  std::map<std::string, std::string> rows;
  for (const ExplainedSetting& row : config.explain()) {
    rows[row.key] = row.value + " from " + row.origin;
    EXPECT_FALSE(row.doc.empty());
    EXPECT_THAT(row.value, Not(HasSubstr("hunter2")));
  }
  EXPECT_EQ(rows["store.group"], "7 from " + std::string(kFile) + ":2:1");
  EXPECT_EQ(rows["log.level"], "\"info\" from TERTULIA_LOG_LEVEL");
  EXPECT_EQ(rows["turn.timeout"], "\"5s\" from --turn-timeout");
  EXPECT_EQ(rows["store.cache"], "\"4MiB\" from default");
  EXPECT_EQ(rows["server.origins"], "[] from default");
  EXPECT_EQ(rows["model.key"], "set from " + std::string(kFile) + ":4:1");
}

TEST_F(ConfigTest, AllProblemsAreListedAtOnceWithTheirPlaces) {
  environment_["TERTULIA_LOG_FORMAT"] = "xml";
  flags_ = {{"log.levle", "info"}};
  const auto found =
      problems("colour = 1\n[store]\ngruop = 7\ncache = true\ngroup = 0\n[turn]\ntimeout = 30\n");
  EXPECT_THAT(found, testing::UnorderedElementsAre(
                         at("1:1") + "unknown key 'colour'",
                         at("3:1") + "unknown key 'store.gruop' (did you mean 'store.group'?)",
                         at("4:1") + "store.cache: must be a size such as \"4MiB\", not a boolean",
                         at("5:1") + "store.group: 0 is not between 1 and 4096",
                         at("7:1") + "turn.timeout: must be a duration such as \"30s\", not a number",
                         "TERTULIA_LOG_FORMAT: log.format: 'xml' is not one of human, json",
                         "unknown flag for 'log.levle' (did you mean 'log.level'?)"));
}

TEST_F(ConfigTest, WrongTypesAreRefused) {
  for (const char* line :
       {"store.verify = 'true'", "store.verify = 1", "store.group = '7'", "store.group = 7.0",
        "store.group = 1979-05-27", "store.group = {a = 1}", "store.group = []", "name = 7", "name = ['a']",
        "server.origins = 'a'", "server.origins = ['a', 1]", "data = true", "turn.timeout = 'soon'",
        "store.cache = '4 apples'", "model.key = 1", "log.level = 2", "[store.group]\nx = 1",
        "[[name]]\nx = 1"}) {
    const auto found = problems(line);
    ASSERT_EQ(found.size(), 1U) << line;
    EXPECT_THAT(found[0], HasSubstr(kFile)) << line;
  }
}

TEST_F(ConfigTest, NumbersThatDoNotFitAreRefused) {
  EXPECT_THAT(problems("store.group = 4097"), ElementsAre(HasSubstr("4097 is not between 1 and 4096")));
  EXPECT_THAT(problems("store.group = -1"), ElementsAre(HasSubstr("-1 is not between")));
  EXPECT_THAT(problems("store.group = 99999999999999999999"),
              ElementsAre(HasSubstr(std::string(kFile) + ":1:")));
  EXPECT_THAT(problems("turn.timeout = '999999999999999999d'"), ElementsAre(HasSubstr("too large")));
  EXPECT_THAT(problems("turn.timeout = '25h'"), ElementsAre(HasSubstr("25h is not between 1s and 1d")));
  environment_["TERTULIA_STORE_GROUP"] = "99999999999999999999";
  EXPECT_THAT(problems(""), ElementsAre(HasSubstr("not between 1 and 4096")));
  environment_["TERTULIA_STORE_GROUP"] = "7x";
  EXPECT_THAT(problems(""), ElementsAre(HasSubstr("must be a whole number, not '7x'")));
}

TEST_F(ConfigTest, BadTomlIsNamedByLineAndColumn) {
  EXPECT_THAT(problems("name = 'a'\nname = 'b'\n"), ElementsAre(HasSubstr(std::string(kFile) + ":2:")));
  EXPECT_THAT(problems("[store]\n[store]\n"), ElementsAre(HasSubstr(std::string(kFile) + ":2:")));
  EXPECT_THAT(problems("name = \"\xff\"\n"), ElementsAre(HasSubstr(std::string(kFile) + ":1:")));
  EXPECT_THAT(problems("name = \n"), ElementsAre(HasSubstr(std::string(kFile) + ":1:")));
  EXPECT_THAT(problems("name = 'a"), ElementsAre(HasSubstr(std::string(kFile) + ":1:")));
}

TEST_F(ConfigTest, LettersWhereNoneBelongAreAProblem) {
  for (const char* header : {"[(", "[\v", "[[(", "[.a]", "[\xc2\xa0", "fl\u00e4g = 1", "[\u00e4]"}) {
    EXPECT_THAT(problems("name = 'a'\n" + std::string(header)),
                ElementsAre(HasSubstr(std::string(kFile) + ":2:")));
  }
  EXPECT_THAT(problems(std::string("na\0me = 1", 9)), ElementsAre(HasSubstr(at("1:3"))));
}

TEST_F(ConfigTest, DeepNestingAndHugeFilesAreRefused) {
  EXPECT_EQ(problems("name = " + std::string(100'000, '[')).size(), 1U);
  EXPECT_THAT(problems("name = " + std::string(200, '[') + std::string(200, ']')).size(), 1U);
  std::string inner = "1";
  for (int i = 0; i < 2000; ++i) inner = "{a=" + inner + "}";
  EXPECT_EQ(problems("x = " + inner).size(), 1U);
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  EXPECT_EQ(problems(dotted + " = 1").size(), 1U);
  EXPECT_EQ(problems(dotted.substr(0, 8001) + " = 1").size(), 1U);
  EXPECT_THAT(problems(std::string(300'000, '#')), ElementsAre(HasSubstr("262144")));
}

TEST_F(ConfigTest, ThousandsOfProblemsAreCutShort) {
  std::string toml;
  for (int i = 0; i < 2000; ++i) toml += "x" + std::to_string(i) + " = 1\n";
  const auto found = problems(toml);
  EXPECT_EQ(found.size(), 51U);
  EXPECT_EQ(found.back(), "and 1950 more");
}

TEST_F(ConfigTest, KeysAreShownWithoutControlCharacters) {
  const auto found = problems("\"a\\n\\u001b[2J\" = 1\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], HasSubstr("a\\n\\u001b[2J"));
}

TEST_F(ConfigTest, ANamedFileMustBeThereAndTheUsualOneNeedNot) {
  EXPECT_TRUE(load().ok());
  file_ = "/nowhere.toml";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("/nowhere.toml")));
  file_.reset();
  environment_["TERTULIA_CONFIG"] = "/nowhere2.toml";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("/nowhere2.toml")));
}

TEST_F(ConfigTest, TheFileIsFoundInTheOrderThatIsPromised) {
  env_.files().make_directory("/xdg/tertulia").value();
  write(kFile, "name = 'home'");
  write("/xdg/tertulia/config.toml", "name = 'xdg'");
  write("/variable.toml", "name = 'variable'");
  write("/flag.toml", "name = 'flag'");
  EXPECT_EQ(load()->string("name"), "home");
  environment_["XDG_CONFIG_HOME"] = "relative";
  EXPECT_EQ(load()->string("name"), "home") << "a relative XDG path is ignored";
  environment_["XDG_CONFIG_HOME"] = "/xdg";
  EXPECT_EQ(load()->string("name"), "xdg");
  environment_["TERTULIA_CONFIG"] = "/variable.toml";
  EXPECT_EQ(load()->string("name"), "variable");
  file_ = "/flag.toml";
  EXPECT_EQ(load()->string("name"), "flag");
}

TEST_F(ConfigTest, TheDataDirectoryIsFoundInTheOrderThatIsPromised) {
  environment_["XDG_DATA_HOME"] = "/xdg";
  EXPECT_EQ(load()->path("data"), "/xdg/tertulia");
  environment_["TERTULIA_DATA"] = "/variable";
  EXPECT_EQ(load()->path("data"), "/variable");
  flags_ = {{"data", "/flag"}};
  EXPECT_EQ(load()->path("data"), "/flag");
}

TEST_F(ConfigTest, WithoutAHomeTheDataDirectoryMustBeGiven) {
  environment_.clear();
  EXPECT_THAT(problems(), ElementsAre("'data' is not set: give --data or TERTULIA_DATA"));
}

TEST_F(ConfigTest, PathsInAFileAreRelativeToItAndTildeIsHome) {
  EXPECT_EQ(load("data = 'd'")->path("data"), "/home/ada/.config/tertulia/d");
  EXPECT_EQ(load("data = '~/d'")->path("data"), "/home/ada/d");
  flags_ = {{"data", "d"}};
  EXPECT_EQ(load()->path("data"), "d");
}

TEST_F(ConfigTest, AMisspeltVariableIsAProblemAndAForeignOneIsNot) {
  environment_["TERTULIA_SERVICE_HOST"] = "10.0.0.1";
  EXPECT_TRUE(load().ok());
  environment_["TERTULIA_LOG_LEVLE"] = "info";
  EXPECT_THAT(problems(),
              ElementsAre("unknown variable 'TERTULIA_LOG_LEVLE' (did you mean 'TERTULIA_LOG_LEVEL'?)"));
}

TEST_F(ConfigTest, AFlagGivenTwiceIsAProblem) {
  flags_ = {{"name", "a"}, {"name", "b"}};
  EXPECT_THAT(problems(), ElementsAre("--name: given twice"));
}

TEST_F(ConfigTest, TextThatIsNotUnicodeIsRefused) {
  environment_["TERTULIA_NAME"] = "\xff\xfe";
  EXPECT_THAT(problems(), ElementsAre("TERTULIA_NAME: name: is not well-formed UTF-8 text without NUL"));
}

TEST_F(ConfigTest, ASecretComesFromAFileThatNotEverybodyMayRead) {
  write("/key", "hunter2\n");
  environment_["TERTULIA_MODEL_KEY"] = "file:/key";
  EXPECT_EQ(load()->secret("model.key")->reveal(), "hunter2");
  env_.disk().set_world_readable("/key", true).value();
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("everybody may read the secret file '/key'")));
  write("/key", "\n");
  env_.disk().set_world_readable("/key", false).value();
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is empty")));
  environment_["TERTULIA_MODEL_KEY"] = "file:/none";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(ConfigTest, ASecretDoesNotStandWhereEverybodySeesIt) {
  write(kFile, "model.key = 'hunter2'");
  EXPECT_TRUE(load().ok());
  env_.disk().set_world_readable(kFile, true).value();
  auto found = problems();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], HasSubstr("everybody may read this file"));
  EXPECT_THAT(found[0], Not(HasSubstr("hunter2")));
  write(kFile, "");
  flags_ = {{"model.key", "hunter2"}};
  found = problems();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], HasSubstr("--model-key"));
  EXPECT_THAT(found[0], Not(HasSubstr("hunter2")));
}

TEST(ConfigDeathTest, AskingForWhatWasNotDeclaredEndsTheProgram) {
  SimEnv env(1);
  Settings settings;
  add_base_settings(settings, {{"HOME", "/h"}});
  const Config config = load_config(settings, env.files(), {.environment = {{"HOME", "/h"}}}).value();
  EXPECT_DEATH((void)config.string("log.levle"), "was not declared");
  EXPECT_DEATH((void)config.integer("log.level"), "of another type");
  EXPECT_DEATH(settings.add(Setting::string("log_level", "", "x")), "cannot be told apart");
}

TEST(Setting, HasAVariableAndAFlag) {
  const Setting setting = Setting::string("turn.tool_limit", "", "");
  EXPECT_EQ(setting.variable(), "TERTULIA_TURN_TOOL_LIMIT");
  EXPECT_EQ(setting.flag(), "--turn-tool-limit");
}

TEST(Environment, IsThatOfTheProcess) { EXPECT_FALSE(process_environment().at("PATH").empty()); }

TEST_F(ConfigTest, ATableWithNamesOfTheUsersOwnIsKeptAsItStands) {
  write(kFile, "name = \"x\"\n[agents.helper]\nmodel = \"fast\"\nscores = [0.5, 1]\nhome = \"~/work\"\n");
  const Config config =
      load_config(settings(), env_.files(), {.environment = environment_, .flags = {}, .tables = {"agents"}})
          .value();
  const ConfigNode* helper = config.table("agents")->find("helper");
  ASSERT_NE(helper, nullptr);
  EXPECT_EQ(std::get<std::string>(helper->find("model")->value), "fast");
  EXPECT_THAT(helper->find("model")->origin, HasSubstr("config.toml:3:1"));
  EXPECT_EQ(std::get<double>(std::get<ConfigNode::List>(helper->find("scores")->value)[0].value), 0.5);
  EXPECT_EQ(config.table("models"), nullptr);
  const Setting home = Setting::path("home", "", "");
  EXPECT_EQ(std::get<std::string>(config.read(home, *helper->find("home"), env_.files()).value()),
            "/home/ada/work");
  const Result<SettingValue> wrong = config.read(home, *helper->find("scores"), env_.files());
  EXPECT_THAT(wrong.error().message(), HasSubstr("must be a path, not a list of other things"));
}

TEST_F(ConfigTest, ATableThatNobodyKeepsIsUnknown) {
  EXPECT_FALSE(load("[agents.helper]\nmodel = \"fast\"\n").ok());
}

}  // namespace config_test
}  // namespace tertulia
