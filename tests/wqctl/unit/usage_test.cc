// What wqctl says to command lines that are wrong, and of itself.

#include <fstream>
#include <regex>
#include <set>

#include "tests/wqctl/unit/in_process.h"
#include "tools/wqctl/cli/about.h"

namespace wqctl {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class UsageTest : public WqctlTest {};

TEST_F(UsageTest, WrongWords) {
  Out("init");
  Expect(R"(
2  => wqctl: error: which verb?
2  => snapshot create      copy a store
2 frobnicate => unknown verb "frobnicate"
2 help frobnicate => unknown verb "frobnicate"
2 inspct => unknown verb "inspct"; did you mean "inspect"?
2 snapshot => which verb? One of snapshot create, snapshot ls, snapshot restore
2 snapshot frobnicate => unknown verb "snapshot frobnicate"
2 snapshot lst => did you mean "snapshot ls"?
2 --frobnicate init => unknown option "--frobnicate"
2 dump --frobnicate => unknown option "--frobnicate"
2 dump --qeue=q => unknown option "--qeue=q"; did you mean "--queue"?
2 ls --progress=never => "--progress" goes before the verb: wqctl --progress … ls
2 --progress=1 ls => --progress: "1" is not one of
2 --color=blue ls => --color: "blue" is not one of: auto, always or never
2 init extra => unexpected argument "extra"
2 dump extra => unexpected argument "extra"
2 inspect one two => only one key
2 load a b => one FILE
2 add -q q => which keys?
2 add -q q - - => standard input can be read only once
2 add -q q -x => unknown option "-x"
2 add k => --queue is required
2 add -q a/b k => name
2 add -q q --lane blue k => "blue" is not
2 add -q q --lane 5x k => "5x" is not
2 add -q q --lane 99999999999 k => "99999999999" is not
2 add -q q --priority fast k => "fast" is not a 32-bit integer
2 add -q q --priority 2147483648 k => is not a 32-bit integer
2 add -q q --priority -2147483649 k => is not a 32-bit integer
2 add -q q --priority 1.5 k => is not a 32-bit integer
2 add -q q --priority 0x7 k => is not a 32-bit integer
2 add -q q --priority +1 k => is not a 32-bit integer
2 add -q q --lane fast --priority 0 k => excludes
2 add -q q --durability maybe k => "maybe" is not a durability
2 add -q q --debounce 1h a => --debounce and --max-wait need each other
2 add -q q --debounce 2h --max-wait 1h a => --max-wait is shorter than --debounce
2 add -q q --debounce 1h --max-wait 1h --after 1h a => excludes
2 add -q q -o xml k => "xml" is not an output format: text, json or jsonl
2 add -q q -o table k => "table" is not an output format
2 work -q q -j 1025 -- true => "1025" is not
2 work -q q -j x -- true => "x" is not
2 work -q q --max-requeues -1 -- true => "-1" is not a number
2 work -q q => which command?
2 work -q q -- => which command?
2 work -q q true => unexpected argument "true"
2 ls -o=xml => "xml" is not an output format: text, table, wide, json, jsonl or name
2 ls -0 => --null goes with -o name
2 ls -0=name => unknown option "-=name"
2 ls --state done => "done" is not a list of states
2 ls --match ( => "(" is not a regular expression
2 ls --match [z-a] => is not a regular expression
2 ls --failures-over -1 => "-1" is not a number
2 ls --limit x => "x" is not a number
2 ls --sort-by name => "name" is not an order
2 ls --hex --prefix 7 => "7" is not hexadecimal
2 ls --now yesterday => "yesterday" is not a time
2 ls --now 2026-13-01T00:00:00Z => is not a time
2 ls --times sometimes => "sometimes" is not
3 workers => no process serves the store
2 watch --interval 1ms => --interval must be 100ms or more
2 watch --interval 0 => --interval must be 100ms or more
2 watch --count 0 => "0" is not
2 watch --keys x => "x" is not
2 watch extra => unexpected argument "extra"
2 work -q q -j 5x -- true => "5x" is not
2 work -q q -j 50% -- true => "50%" is not
2 work -q q -j +1 -- true => "+1" is not
2 work -q q -u --tag -- true => --ungroup leaves the output to the commands: not with --tag
2 work -q q --group -u -- true => only one of --group and --ungroup
2 work -- true => --queue is required
2 work -q q --http-any-address -- true => --http-any-address goes with --http
2 rm -q q --yes => which keys?
2 rm -q q --yes -- => which keys?
2 rm --yes a => --queue is required
2 rm -q q --yes --all a => --all
2 rm -q q --yes - => behind "--"
2 rm -q q a => give --yes, or --dry-run
2 forget -q q --all => give --yes, or --dry-run
2 queue delete -q q => give --yes, or --dry-run
2 queue delete --yes => --queue is required
)");
  for (const std::string option : {"add -q q k --after=", "ls --older-than="}) {
    for (const char* text :
         {"5", "-5s", "s", "5x", "1..5s", "1.s", "1h30", "1e3s", "99999999h", "36526d"}) {
      Expect(
          2, option + text,
          "\"" + std::string(text) +
              "\" is not a duration such as 500ms, 1.5s or 1h30m, of at most 100 years (36525d)");
    }
  }
  Expect(2, "add k -q " + std::string(65, 'x'), "name");
  Expect(2, "add -q q k --group " + std::string(1025, 'x'), "a group: 1 to 1024 bytes");
  for (const char* option : {"--group", "--after", "--priority", "-q"}) {
    EXPECT_EQ(Run({"add", "k", "-q", "q", option, ""}).code, 2) << option;
  }
  EXPECT_THAT(Run({"\x1b[31mred"}).err, AllOf(HasSubstr("\\x1b[31mred"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(Out("inspect -o name"), "");
}

TEST_F(UsageTest, WrongLogs) {
  if (Run({"replication", "status", "etcd://127.0.0.1:1/p"}).err.find("without etcd") !=
      std::string::npos) {
    GTEST_SKIP() << "built without etcd";
  }
  Expect(R"(
2 work -q q --replicate etcd://host/p -- true => "host" has no port
2 work -q q --replica a -- true => go with replicate
2 work -q q --replicate etcd://a:1/p --replica a+b -- true => "a+b" is no name of a replica
2 serve --replicate etcd://host/p => "host" has no port
2 serve --replicate etcd://a:1/p --lease 1 => "1" is not a number of seconds from 2 to 3600
2 serve --io-timeout 1ms => a duration from 100ms to 1h
2 promote etcd://a:1/p b extra => unexpected argument "extra"
2 replication status => which log?
2 replication status http://a:1/p => it does not begin with etcd://
2 replication status etcd://a:1 => it has no prefix
2 replication status etcd://a:1/ => its prefix is empty
2 replication status etcd://a:1/p/ => the prefix "/p/" ends with "/"
2 replication status etcd:///p => an address is empty
2 replication status etcd://a:1,/p => an address is empty
2 replication status etcd://:1/p => ":1" has no host
2 replication status etcd://a:0/p => "0" is no port, in "a:0"
2 replication status etcd://a:1,b:65536/p => "65536" is no port, in "b:65536"
2 replication status etcd://http://a:1/p => "" is no port, in "http:"
2 replication status etcd://a:1/p --etcd-cert c => --etcd-cert and --etcd-key go together
2 replication status etcd://a:1/p --etcd-user u => --etcd-user and --etcd-password-file go together
2 replication destroy etcd://a:1/p => give --yes
1 replication status etcd://127.0.0.1:1/p => 127.0.0.1:1
)");
  std::ofstream("password") << "secret";
  chmod("password", 0644);
  const std::string status =
      "replication status etcd://127.0.0.1:1/p --etcd-user u --etcd-password-file ";
  Expect(2, status + "password",
         "the password file password is accessible to other users: run chmod 600 on it");
  Expect(3, status + "none", "there is no password file none");
  setenv("WQ_REPLICATE", "etcd://host/p", 1);
  Expect(2, "replication status", "\"host\" has no port");
}

TEST_F(UsageTest, DurationsAndShortOptions) {
  Out("init");
  Out("add -q=q --after 5400.5s 5400.5s");
  Out("add -q q --after 1h30m 1h30m");
  Out("add -q q --after 36525d 36525d");
  Out("add -q q --after 1us -- -0 -o=json");
  EXPECT_THAT(Out("inspect 5400.5s"), HasSubstr("delay           1h30m500ms\n"));
  EXPECT_THAT(Out("inspect 1h30m"), HasSubstr("delay           1h30m\n"));
  EXPECT_THAT(Out("inspect 36525d"), HasSubstr("delay           36525d\n"));
  EXPECT_EQ(Out("ls -q=q -o=name --prefix=-"), "-0\n-o=json\n");
}

TEST_F(UsageTest, HelpNeedsNoStore) {
  unsetenv("WQ_STORE");
  EXPECT_THAT(Out("--version"), ContainsRegex("^wqctl [0-9]+[.][0-9]+"));
  EXPECT_EQ(Out("help"), Out("--help"));
  EXPECT_EQ(Out("help snapshot"), Out("snapshot --help"));
  EXPECT_THAT(Out("snapshot --help"), Not(HasSubstr(" dump ")));
  std::set<std::string> verbs;
  for (const VerbAbout& verb : AboutVerbs()) {
    verbs.insert(verb.name.substr(0, verb.name.find(' ')));
  }
  EXPECT_GT(verbs.size(), 20U);
  const std::regex named("(?:see|^ ) wqctl (?:--store [^ ]+ )?([a-z-]+)");
  for (const VerbAbout& verb : AboutVerbs()) {
    const std::string help = Out(verb.name + " --help");
    EXPECT_EQ(Out("help " + verb.name), help);
    EXPECT_THAT(
        help, AllOf(HasSubstr("Usage: wqctl [--store DIR] " + verb.name), HasSubstr("Examples:")));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      if (std::smatch match; std::regex_search(line, match, named)) {
        EXPECT_TRUE(verbs.contains(match[1])) << line;
      }
      const size_t gap = line.find("  ", 2);  // Before the description of an option.
      if (!line.starts_with("  -") || gap == line.npos) continue;
      EXPECT_EQ(line.find_first_not_of(' ', gap), 30U) << line;
    }
  }
}

}  // namespace
}  // namespace wqctl
