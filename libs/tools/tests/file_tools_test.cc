#include "tertulia/tools/file_tools.h"

#include <filesystem>
#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/tools/call_tool.h"

namespace tertulia {
namespace file_tools_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FileTools : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tertulia-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    root_ = top_ / "root";
    fs::create_directories(root_ / "sub/deep");
    put("root/a.txt", "one\ntwo\nthree\n");
    put("root/sub/b.txt", "beta\nTwo words\n");
    put("root/binary", std::string("\x89PNG\0\xff", 6));
    put("secret.txt", "secret\n");
    open({});
  }
  void TearDown() override { fs::remove_all(top_); }

  void open(FileToolsOptions options) {
    registry_ = std::make_unique<ToolRegistry>();
    registry_->add(file_tools(root_, options).value()).value();
  }
  void put(const fs::path& path, const std::string& content) { std::ofstream(top_ / path) << content; }
  std::string get(const fs::path& path) {
    std::ifstream in(top_ / path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  ToolAnswer call(std::string_view name, const JsonObject& arguments) {
    const ToolSetPtr set = registry_->snapshot();
    const ToolEntry* entry = set->get(name).value();
    return wait<ToolAnswer>([&](Done<ToolAnswer> done) {
             call_tool(entry->tool, entry->schema, to_text(Json(arguments)), {}, {}, real_env().clock(),
                       std::move(done));
           })
        .value();
  }
  ToolAnswer read(const std::string& path) { return call("read_file", {{"path", Json(path)}}); }
  ToolAnswer write(const std::string& path, const std::string& content) {
    return call("write_file", {{"path", Json(path)}, {"content", Json(content)}});
  }

  fs::path top_;
  fs::path root_;
  std::unique_ptr<ToolRegistry> registry_;
};

TEST_F(FileTools, ReadsTextWholeOrByLines) {
  EXPECT_EQ(read("a.txt").text, "one\ntwo\nthree\n");
  EXPECT_EQ(read("./sub//b.txt").text, "beta\nTwo words\n");
  EXPECT_EQ(call("read_file", {{"path", "a.txt"}, {"first_line", 2}, {"lines", 1}}).text,
            "two\n[lines 2 to 2 of 3]");
  EXPECT_EQ(call("read_file", {{"path", "a.txt"}, {"first_line", 9}}).text, "the file has 3 lines");
  put("root/empty", "");
  EXPECT_EQ(read("empty").text, "");
}

TEST_F(FileTools, CutsWhatIsLong) {
  open({.read_bytes = 10, .file_bytes = 100});
  put("root/long", "12345\n67890\nabc\n");
  EXPECT_EQ(read("long").text, "12345\n[lines 1 to 1 of 3; cut because it is long]");
  put("root/line", std::string(50, 'x'));
  EXPECT_EQ(read("line").text, "xxxxxxxxxx\n[lines 1 to 1 of 1; cut because it is long]");
  put("root/large", std::string(101, 'x'));
  EXPECT_EQ(read("large").code, ErrorCode::kTooLarge);
}

TEST_F(FileTools, GivesBytesOnlyAsBase64) {
  EXPECT_EQ(read("binary").code, ErrorCode::kBadArguments);
  EXPECT_EQ(call("read_file", {{"path", "binary"}, {"base64", true}}).text, "iVBORwD/\n[bytes 0 to 6 of 6]");
  EXPECT_EQ(call("read_file", {{"path", "binary"}, {"base64", true}, {"offset", 2}}).text,
            "TkcA/w==\n[bytes 2 to 6 of 6]");
}

TEST_F(FileTools, RefusesEveryWayOutOfTheRoot) {
  fs::create_symlink(top_ / "secret.txt", root_ / "absolute_link");
  fs::create_symlink("../secret.txt", root_ / "relative_link");
  fs::create_directory_symlink(top_, root_ / "directory_link");
  fs::create_symlink("a.txt", root_ / "inner_link");
  fs::create_directory_symlink("sub", root_ / "inner_directory_link");
  fs::create_symlink("/proc/self/root", root_ / "magic");
  fs::create_symlink("/proc/self/fd/0", root_ / "stdin");
  fs::create_symlink("loop", root_ / "loop");
  const std::string secret = (top_ / "secret.txt").string();
  const std::vector<std::string> escapes = {
      "../secret.txt",
      "sub/../../secret.txt",
      "sub/../a.txt",
      "..",
      "./..",
      "sub/..",
      "../root/a.txt",
      secret,
      "/etc/passwd",
      "/proc/self/environ",
      "//etc/passwd",
      "absolute_link",
      "relative_link",
      "inner_link",
      "loop",
      "directory_link/secret.txt",
      "inner_directory_link/b.txt",
      "directory_link",
      "magic/etc/passwd",
      "magic" + secret,
      "stdin",
      "sub/../../root/../secret.txt",
      std::string("a.txt\0/../x", 11),
      std::string("\0", 1),
      "a.txt\n",
      "\x1b[2J",
      std::string(256, 'x'),
      std::string(5'000, 'x'),
      "sub/" + std::string(300, 'y') + "/z",
      "a.txt/",
      "a.txt/x",
      "nothing/../../secret.txt",
      "",
  };
  for (const std::string& path : escapes) {
    const ToolAnswer answer = read(path);
    EXPECT_FALSE(answer.succeeded()) << path << ": " << answer.text;
    EXPECT_THAT(answer.text, Not(HasSubstr("secret\n"))) << path;
    const ToolAnswer written = write(path, "broken");
    EXPECT_FALSE(written.succeeded()) << path;
    const ToolAnswer listed = call("list_files", {{"path", Json(path)}, {"recursive", true}});
    EXPECT_THAT(listed.text, Not(HasSubstr("secret.txt ("))) << path;
  }
  EXPECT_EQ(get("secret.txt"), "secret\n");
  EXPECT_EQ(get("root/a.txt"), "one\ntwo\nthree\n");
  EXPECT_THAT(call("search_files", {{"pattern", "secret"}}).text, testing::StartsWith("Nothing matches."));
}

TEST_F(FileTools, RefusesPipesDevicesAndSocketsWithoutBlocking) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (root_ / "sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const char* path : {"pipe", "sock", "sub"}) {
    EXPECT_EQ(read(path).code, ErrorCode::kNotPermitted) << path;
    EXPECT_EQ(write(path, "x").code, ErrorCode::kNotPermitted) << path;
  }
  EXPECT_THAT(call("search_files", {{"pattern", "beta"}}).text, testing::StartsWith("sub/b.txt:1: beta\n"));
  EXPECT_THAT(call("list_files", {}).text, HasSubstr("pipe (neither file nor directory)\n"));
  ::close(server);
  registry_ = std::make_unique<ToolRegistry>();
  registry_->add(file_tools("/dev", {}).value()).value();
  EXPECT_EQ(read("null").code, ErrorCode::kNotPermitted);
  EXPECT_EQ(write("null", "x").code, ErrorCode::kNotPermitted);
}

TEST_F(FileTools, WritesInOneStepAndMakesDirectories) {
  EXPECT_EQ(write("new/dir/c.txt", "hello").text, "wrote 5 bytes");
  EXPECT_EQ(get("root/new/dir/c.txt"), "hello");
  fs::permissions(root_ / "a.txt", fs::perms(0750));
  EXPECT_TRUE(write("a.txt", "short").succeeded());
  EXPECT_EQ(get("root/a.txt"), "short");
  EXPECT_EQ(fs::status(root_ / "a.txt").permissions(), fs::perms(0750));
  EXPECT_EQ(call("write_file", {{"path", "a.txt"}, {"content", "x"}, {"must_be_new", true}}).code,
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(get("root/a.txt"), "short");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_))
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".tertulia")));
}

TEST_F(FileTools, ReplacingAFileLeavesItsOtherNamesAlone) {
  fs::create_hard_link(top_ / "secret.txt", root_ / "second_name");
  EXPECT_TRUE(write("second_name", "changed").succeeded());
  EXPECT_EQ(get("secret.txt"), "secret\n");
}

TEST_F(FileTools, ListsWithKindsAndSizes) {
  fs::create_symlink("a.txt", root_ / "link");
  EXPECT_EQ(call("list_files", {}).text,
            "a.txt (14 bytes)\nbinary (6 bytes)\nlink (symbolic link, not followed)\nsub/\n");
  EXPECT_EQ(call("list_files", {{"path", "sub"}, {"recursive", true}}).text,
            "sub/b.txt (15 bytes)\nsub/deep/\n");
  EXPECT_EQ(call("list_files", {{"path", "sub/deep"}}).text, "The directory is empty.");
  EXPECT_EQ(call("list_files", {{"path", "nowhere"}}).code, ErrorCode::kNotFound);
  open({.entries = 1});
  EXPECT_EQ(call("list_files", {}).text, "a.txt (14 bytes)\n[there is more; list a directory below]\n");
}

// The one that is no text.
constexpr const char* kUnsearched =
    "[not searched, because they are too large, no text, or not to be read: 1]\n";

TEST_F(FileTools, SearchesLines) {
  const std::string rest = kUnsearched;
  EXPECT_EQ(call("search_files", {{"pattern", "two"}}).text, "a.txt:2: two\n" + rest);
  EXPECT_EQ(call("search_files", {{"pattern", "TWO"}, {"ignore_case", true}}).text,
            "a.txt:2: two\nsub/b.txt:2: Two words\n" + rest);
  EXPECT_EQ(call("search_files", {{"pattern", "^t.o$"}, {"regex", true}}).text, "a.txt:2: two\n" + rest);
  EXPECT_EQ(call("search_files", {{"pattern", "t.o"}}).text, "Nothing matches.\n" + rest);
  EXPECT_EQ(call("search_files", {{"pattern", "Two"}, {"path", "sub"}}).text, "sub/b.txt:2: Two words\n");
  EXPECT_EQ(call("search_files", {{"pattern", "("}, {"regex", true}}).code, ErrorCode::kBadArguments);
  open({.matches = 1});
  EXPECT_THAT(call("search_files", {{"pattern", "t"}}).text, HasSubstr("[there is more"));
}

TEST_F(FileTools, ClassesAndReadOnlyMode) {
  const Toolkit kit = file_tools(root_).value();
  for (const ToolPtr& tool : kit.tools()) {
    const bool writes = tool->definition().name == "write_file";
    EXPECT_EQ(tool->tool_class(), writes ? ToolClass::kUnsafe : ToolClass::kReadOnly);
    EXPECT_EQ(tool->can_probe(), writes);
  }
  EXPECT_EQ(file_tools(root_, {.read_only = true}).value().tools().size(), 3U);
  EXPECT_EQ(file_tools(root_ / "nowhere").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(file_tools(root_ / "a.txt").error().code(), ErrorCode::kNotPermitted);
}

TEST_F(FileTools, AProbeTellsWhetherAWriteTookEffect) {
  const ToolSetPtr set = registry_->snapshot();
  const ToolPtr tool = set->get("write_file").value()->tool;
  const auto probe = [&](const char* content) {
    ToolCall call;
    call.arguments = Json(JsonObject{{"path", "a.txt"}, {"content", content}});
    return wait<std::optional<ToolOutput>>([&](auto done) { tool->probe(call, done); });
  };
  EXPECT_TRUE(probe("one\ntwo\nthree\n").value().has_value());
  EXPECT_EQ(probe("other").error().code(), ErrorCode::kToolFailed);
}

}  // namespace file_tools_test
}  // namespace tertulia
