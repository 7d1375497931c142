// The verbs that make, check and copy stores; and the settings of the user.

#include <fcntl.h>
#include <sys/file.h>

#include <fstream>

#include "tests/wqctl/unit/in_process.h"

namespace wqctl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class StoresTest : public WqctlTest {
 protected:
  static std::string Table(const std::string& store) {
    for (const auto& file : fs::directory_iterator(store)) {
      if (file.path().extension() == ".sst") return file.path();
    }
    ADD_FAILURE() << "no table in " << store;
    return "";
  }
  static void Damage(const std::string& table) { std::fstream(table).seekp(20) << "X"; }
  static std::string Queues(const std::string& store) {
    return Out("--store " + store + " dump -o jsonl");
  }
};

TEST_F(StoresTest, InitMakesAStoreOnce) {
  const std::string created = Out("init");
  EXPECT_THAT(created, MatchesRegex("created store store, uuid [0-9a-f-]+\n"));
  EXPECT_EQ(Out("init"), "found" + created.substr(7));
  fs::create_directory("foreign");
  std::ofstream("foreign/thesis") << "precious";
  std::ofstream("file") << "precious";
  Expect(R"(
1 init --new => already
1 --store foreign init => foreign
1 --store file init => file
1 --store file/below init => file
1 --store /proc/nothing/store init => /proc
3 --store foreign ls => foreign
)");
  EXPECT_EQ(std::distance(fs::directory_iterator("foreign"), {}), 1);
  EXPECT_EQ(fs::file_size("file"), 8U);
}

TEST_F(StoresTest, VerifyAndRepair) {
  Out("init");
  Out("add -q q a b");
  Out("add -q q --after 1h later");
  const std::string dump = Queues("store");
  const Ran sound = Run({"verify"});
  EXPECT_EQ(sound.code, 0);
  EXPECT_EQ(sound.out, "");
  EXPECT_THAT(sound.err, HasSubstr(" rows of 1 queues"));
  EXPECT_EQ(Out("repair --into new"), "");
  EXPECT_EQ(Queues("new"), dump);
  fs::create_directory_symlink("store", "link");
  Expect(R"(
1 repair --into new => there is new already
2 repair --into store/new => store/new is inside the store
2 repair --into link/new => link/new is inside the store
2 repair => --into
)");
  std::ofstream("store/photo.jpg") << "x";
  EXPECT_THAT(Run({"verify"}).out, HasSubstr("photo.jpg is not a file of a store"));
  fs::remove("store/photo.jpg");
  const std::string table = Table("store");
  Damage(table);
  for (const char* line : {"verify", "verify -o jsonl"}) {
    const Ran ran = Run(Split(line));
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.out, HasSubstr(fs::path(table).filename()));
  }
  const Ran repaired = Run(Split("repair --into saved -o jsonl"));
  EXPECT_EQ(repaired.code, 5);
  EXPECT_THAT(repaired.out, HasSubstr(fs::path(table).filename()));
  EXPECT_THAT(repaired.err, HasSubstr(" in saved"));
  EXPECT_EQ(fs::status("saved").permissions(), fs::perms::owner_all);
  EXPECT_EQ(Out("--store saved verify"), "");
}

TEST_F(StoresTest, ASnapshotIsKeptAndRestored) {
  Out("init");
  Out("add -q q a b");
  const std::string dump = Queues("store");
  const Ran made = Run(Split("snapshot create kept"));
  const std::string one = made.out.substr(0, made.out.size() - 1);
  EXPECT_THAT(one, MatchesRegex("kept/20.*"));
  EXPECT_EQ(fs::status(one).permissions(), fs::perms::owner_all);
  EXPECT_EQ(Out("snapshot ls kept -o name"), made.out);
  EXPECT_THAT(Out("snapshot ls kept -o json"), HasSubstr("\"linked_bytes\""));
  Out("add -q q c");
  EXPECT_EQ(Out("--store " + one + " verify"), "");
  EXPECT_EQ(Queues(one), dump);
  EXPECT_THAT(Out("--store " + one + " inspect"), HasSubstr("snapshot taken"));
  for (const char* line : {"add -q q k", "work -q q -- true", "rm -q q --yes a", "init",
                           "pause -q q --yes", "load -"}) {
    Expect(1, "--store " + one + " " + line, "snapshot");
  }
  EXPECT_EQ(Out("snapshot restore kept --into new"), "restored " + one + " into new\n");
  EXPECT_EQ(Queues("new"), dump);
  for (const auto& file : fs::directory_iterator("new")) {
    EXPECT_EQ(fs::hard_link_count(file), 1U) << file;
  }
  Out("--store new add -q q more");
  EXPECT_EQ(Queues(one), dump);
}

TEST_F(StoresTest, WhatIsInTheWayOfASnapshotIsKept) {
  Out("init");
  Out("add -q q a");
  Out("snapshot create kept --name one");
  for (const char* name : {"full", "empty", "other.restoring", "new.restoring", "kept/.creating"}) {
    fs::create_directories(name);
  }
  for (const char* file : {"full/x", "other.restoring/mine", "new.restoring/UNFINISHED",
                           "new.restoring/rest", "kept/.creating/UNFINISHED"}) {
    std::ofstream(file, std::ios::app).flush();
  }
  fs::create_directory_symlink("empty", "link");
  Expect(R"(
1 snapshot create kept --name one => there is kept/one already
2 snapshot create kept --name ../x => name
2 snapshot create kept --name .x => name
2 snapshot create => which directory
2 snapshot create store/inside => inside
2 snapshot create store => store
2 snapshot restore kept --into kept/one/inside => kept/one/inside is inside the store
2 snapshot restore kept --into store/inside => is inside the store
3 --store nope snapshot create kept => nope
3 snapshot ls nope => nope
3 snapshot restore nope --into new => nope
3 snapshot restore store --into new => store
1 snapshot restore kept --into full => full is not empty: it holds x
1 snapshot restore kept --into link => link
1 snapshot restore kept --into store => store
1 snapshot restore kept --into other => other.restoring is in the way: it holds mine
0 snapshot restore kept --into empty/ => restored kept/one into empty/
0 snapshot restore kept --into new => restored kept/one into new
0 snapshot create kept --name two => kept/two
)");
  EXPECT_FALSE(fs::exists("new/rest") || fs::exists("new.restoring") ||
               fs::exists("kept/.creating"));
  // A directory that a running snapshot has locked is not removed.
  fs::create_directory("kept/.creating");
  const int running = open("kept/.creating", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(running, LOCK_EX), 0);
  Expect(4, "snapshot create kept", "at work in kept/.creating");
  EXPECT_TRUE(fs::exists("kept/.creating"));
  close(running);
}

TEST_F(StoresTest, ADamagedStoreGivesNoSnapshotAndADamagedSnapshotNoStore) {
  Out("init");
  Out("add -q q a b");
  Out("snapshot create --copy kept --name bad");
  std::string table = Table("kept/bad");
  Damage(table);
  Expect(5, "snapshot restore kept --into new", fs::path(table).filename());
  table = Table("store");
  Damage(table);
  Expect(5, "snapshot create more", fs::path(table).filename());
  EXPECT_TRUE(fs::is_empty("more"));
  EXPECT_FALSE(fs::exists("new") || fs::exists("new.restoring"));
}

TEST_F(StoresTest, SettingsAFlagBeforeTheEnvironmentBeforeTheFile) {
  Out("init");
  Out("add -q q a b");
  const std::string as_json = Out("ls -o json");
  std::ofstream("config") << "# What I like.\noutput = json\n\ntimes=absolute\n";
  setenv("WQ_CONFIG", (scratch_ / "config").c_str(), 1);
  EXPECT_EQ(Out("ls"), as_json);
  EXPECT_THAT(Out("ls -o table"), ::testing::ContainsRegex("20[0-9-]+T[0-9:.]+Z"));
  setenv("WQ_OUTPUT", "name", 1);
  EXPECT_EQ(Out("ls"), "a\nb\n");
  EXPECT_EQ(Out("ls --output json"), as_json);
  EXPECT_EQ(Run({"verify"}).code, 0);
  setenv("WQ_TIMES", "relative", 1);
  EXPECT_THAT(Out("ls -o table"), Not(::testing::ContainsRegex("20[0-9-]+T")));
  std::ofstream("config") << "store = store\n";
  unsetenv("WQ_STORE");
  EXPECT_EQ(Out("ls"), "a\nb\n");
  unsetenv("WQ_CONFIG");
  fs::create_directories("home/wq");
  fs::rename("config", "home/wq/config");
  setenv("XDG_CONFIG_HOME", (scratch_ / "home").c_str(), 1);
  EXPECT_EQ(Out("ls"), "a\nb\n");
  unsetenv("WQ_OUTPUT");
  unsetenv("WQ_TIMES");
}

TEST_F(StoresTest, AWrongSettingIsNamedWithItsFileAndLine) {
  Out("init");
  setenv("WQ_CONFIG", "config", 1);
  Expect(2, "ls", "cannot read config, which WQ_CONFIG names");
  for (const auto& [text, why] :
       {std::pair("# fine\noutptu = json\n",
                  "config:2: there is no setting \"outptu\"; did you mean \"output\"?"),
        {"output = xml\n", "config:1: \"xml\" is not one of: text table wide"},
        {"\n\nnonsense\n", "config:3: it is not \"name = value\""},
        {"replicate = etcd://other/p\n", "\"other\" has no port"}}) {
    std::ofstream("config") << text;
    Expect(2, why[0] == '"' ? "replication status" : "ls", why);
  }
  unsetenv("WQ_CONFIG");
  for (const auto& [name, why] :
       {std::pair("WQ_TIMES", "\"soon\" is not one of: relative absolute"),
        {"WQ_PROGRESS", "\"soon\" is not one of: auto always never"}}) {
    setenv(name, "soon", 1);
    Expect(2, "ls", why);
    unsetenv(name);
  }
}

// The file that --config of serve names.
TEST_F(StoresTest, AWrongFileOfServeIsNamedWithItsLine) {
  for (const auto& [text, why] :
       {std::pair("creat = yes", "2: there is no \"creat\" here; did you mean \"create\"?"),
        {"http-any-address = maybe", "2: http-any-address is yes or no, not \"maybe\""},
        {"no equals", "2: it is not \"name = value\""},
        {"[pods]", "2: it is not \"[queue NAME]\""},
        {"[queue a]\norder = lifo",
         "3: --order: \"lifo\" is not fifo, two-lanes, lanes, priorities or fair"},
        {"[queue a]\nhttp = 1", "3: there is no \"http\" here"},
        {"[queue a]\nresync-jitter = 0.6", "3: --resync-jitter: \"0.6\" is not a part of"},
        {"[queue a]\nresync-jitter = nan", "3: --resync-jitter: \"nan\" is not a part of"},
        {"grace = 1s\ngrace = 2s", "3: a second \"grace\""},
        {"io-timeout = 1ms", "2: --io-timeout: \"1ms\" is not a duration from 100ms to 1h"},
        {"max-http-connections = 0", "2: --max-http-connections: \"0\" is not a number"},
        {"replicate = etcd://a:1/p\nlease = 1", "3: --lease: \"1\" is not a number of seconds"},
        {"help = yes", "2: there is no \"help\" here"},
        {"page = never", "2: page is yes or no, not \"never\""},
        {"[queue a]\n[queue a]", "3: a second section of queue \"a\""}}) {
    std::ofstream("config") << "create = yes\n" << text << "\n";
    Expect(2, "serve --config config", std::string("config:") + why);
  }
  std::ofstream("config") << "[queue fine]\n[queue q]\nshards = 70000\n";
  Expect(2, "serve --create --config config", "queue \"q\": shards is 70000");
  Expect(1, "serve --config nothing", "cannot read nothing");
  Expect(1, "serve --config .", "cannot read .: Is a directory");
}

}  // namespace
}  // namespace wqctl
