// Every verb that changes keys: which keys it is for, what it leaves of them, what it says. And
// which keys a filter selects.

#include <fstream>
#include <utility>

#include "base/file_calls.h"
#include "tests/wqctl/unit/in_process.h"

namespace wqctl {
namespace {

// A store with an entry in each state, also two of one key.
class ChangesTest : public WqctlTest {
 protected:
  ChangesTest() {
    const std::string soon = R"("state":"delayed","ready_at":"2100-01-01T00:00:00Z")";
    const std::string late = R"("state":"delayed","ready_at":"2100-01-01T01:00:00Z")";
    std::ofstream("lines") << R"({"queue":"q","key":"a","state":"pending"}
{"queue":"q","key":"b","state":"pending","lane":"7","group":"ns"}
{"queue":"q","key":"c","state":"pending","lane":"slow"}
{"queue":"q","key":"b",)" << soon
                           << R"(}
{"queue":"q","key":"bad",)" << late
                           << R"(,"failures":2,"last_error":"no route"}
{"queue":"q","key":"alone","state":"failing","failures":1,"last_error":"timed out"}
{"queue":"q","key":"held","state":"quarantined","lane":"5","group":"ns","failures":1,)"
                           << R"("last_error":"no route"}
{"queue":"r","key":"other","state":"pending","added_at":"1970-01-02T00:00:00Z"}
)";
    Out("load lines");
  }
};

TEST_F(ChangesTest, OfKeysByName) {
  Expect(R"(
3 rm -q q --dry-run a a bad => would remove "a"\nto be removed 1, not found 1
   | key "bad" is not pending
0 cancel-delay -q q --dry-run b => would cancel the delay of "b"\nto be cancelled 1
0 forget -q q --dry-run bad => would forget the failures of "bad"\nto be forgotten 1
0 requeue -q q --dry-run bad => would requeue "bad"\nto be requeued 1
0 release -q q --dry-run held => would release "held"\nto be released 1
0 drop -q q --dry-run held => would drop "held"\nto be dropped 1
0 delete -q q --dry-run b => would delete "b"\nto be deleted 1
0 rm -q q --dry-run --yes a => would remove "a"\nto be removed 1
0 ls -q q -o name => b\na\nc\nb\nbad\nalone\nheld
3 rm -q q --yes held => removed 0, not found 1 | key "held" is not pending in queue "q"
3 cancel-delay -q q --yes held a => cancelled 0, not found 2
   | key "held" is not delayed in queue "q"
3 forget -q q --yes held => forgotten 0, not found 1 | key "held" is not failing in queue "q"
3 requeue -q q --yes a => requeued 0, not found 1 | key "a" is not delayed in queue "q"
3 release -q q --yes a => released 0, not found 1 | key "a" is not in quarantine in queue "q"
3 drop -q q --yes a => dropped 0, not found 1 | key "a" is not in quarantine in queue "q"
3 delete -q q --yes nope => deleted 0, not found 1 | key "nope" is unknown in queue "q"
3 rm -q q --yes b nope a a => removed 2, not found 1 | key "nope" is not pending in queue "q"
0 ls -q q -o name => c\nb\nbad\nalone\nheld
0 cancel-delay -q q --yes b => cancelled 1
0 forget -q q --yes alone => forgotten 1
3 forget -q q --yes alone => forgotten 0, not found 1 | is not failing
0 ls -q q -o name => c\nbad\nheld
0 requeue -q q --yes bad => requeued 1
0 ls -q q --state pending -o name => bad\nc
0 ls -q q --state failing -o name => bad
0 release -q q --yes held => released 1
0 ls -q q --lane 5 --group ns -o name => held
0 ls -q q --state quarantined -o name =>
0 load --replace lines => loaded queues 2, entries 8, cursors 0
0 drop -q q --yes held => dropped 1
0 add -q q held => added 1, deduplicated 0
0 delete -q q --yes a b c bad alone held => deleted 6
0 ls -o name => other
)");
  EXPECT_EQ(Run({"delete", "-q", "r", "--yes", "no\x1b"}).err,
            "wqctl: error: key \"no\\x1b\" is unknown in queue \"r\"\n");
  Out("verify");
}

TEST_F(ChangesTest, OfAllKeysOrThoseOfAFilter) {
  Expect(R"(
0 rm -q q --all --dry-run => would remove "b"\nwould remove "a"\nwould remove "c"\nto be removed 3
0 cancel-delay -q q --state failing --dry-run => would cancel the delay of "bad"\nto be cancelled 1
0 forget -q q --all --dry-run => would forget the failures of "alone"\n
  would forget the failures of "bad"\nto be forgotten 2
0 delete -q q --state quarantined --dry-run => would delete "held"\nto be deleted 1
0 forget -q q --error timed --yes => forgotten 1
0 rm -q q --yes --hex --prefix 61 --limit 1 => removed 1
0 rm -q q --yes --match ^[ab]$ => removed 1
0 rm -q q --all --yes -o jsonl => {"removed":1,"not_found":0,"dry_run":false}
0 requeue -q q --all --yes --limit 1 => requeued 1
0 cancel-delay -q q --all --yes => cancelled 1
0 cancel-delay -q q --all --yes => cancelled 0
0 forget -q q --all --yes => forgotten 1
0 ls -q q -o name => b\nheld
0 load --replace lines => loaded queues 2, entries 8, cursors 0
0 delete -q q --state failing --yes => deleted 2
0 drop -q q --all --dry-run => would drop "held"\nto be dropped 1
0 release -q q --failures-over 0 --limit 1 --sort-by key --yes => released 1
0 release -q q --all --yes => released 0
0 delete -q q --all --yes => deleted 4
0 ls -o name => other
)");
}

TEST_F(ChangesTest, ADelayThatIsOverCountsAsPending) {
  Out("add -q due --after 1us k l");
  Expect(R"(
3 cancel-delay -q due --yes k => cancelled 0, not found 1 | key "k" is not delayed
0 rm -q due --dry-run k => would remove "k"\nto be removed 1
0 rm -q due --yes k l => removed 2
0 ls -q due -o name =>
)");
}

TEST_F(ChangesTest, ReleasesAtARate) {
  Out("load --replace lines");
  std::ofstream("held") << R"({"queue":"h","key":"a","state":"quarantined","failures":1}
{"queue":"h","key":"b","state":"quarantined","failures":1}
{"queue":"h","key":"c","state":"quarantined","failures":1}
)";
  Out("load held");
  Expect(R"(
2 release -q h --all --yes --rate never => a rate such as 10/s
2 drop -q h --all --yes --rate 1/s => --rate
0 release -q h --all --yes --rate 1/h => released 3
0 ls -q h --state pending -o name => a
0 ls -q h --due-within 61m -o name => b
0 ls -q h --due-within 121m -o name => b\nc
)");
}

TEST_F(ChangesTest, Adds) {
  Expect(R"(
0 add -q p a b a => added 2, deduplicated 1
0 add -q q held b => added 0, deduplicated 1, held 1
0 add -q q --after 1h held => added 0, deduplicated 0, held 1
0 add -q q -o jsonl held => {"added":0,"deduplicated":0,"held":1,"refused":0}
0 add -q d --after 2h k => added 1, deduplicated 0
0 add -q d --after 3h k => added 0, deduplicated 1
0 ls -q d --due-within 2h -o name => k
2 add -q d --delay-mode replace k => --delay-mode needs --after
0 add -q d --after 3h --delay-mode replace k => added 1, deduplicated 0
0 ls -q d --due-within 2h -o name =>
0 add -q d --after 1m --delay-mode resync k => added 0, deduplicated 1
0 add -q d --after 1m --delay-mode resync l => added 1, deduplicated 0
0 add -q d --debounce 1h --max-wait 2h m => added 1, deduplicated 0
0 add -q d --debounce 1h --max-wait 2h m => added 0, deduplicated 1
0 ls -q d --state delayed -o name => l\nm\nk
0 ls -q d --state pending -o name =>
2 add -q d --durability replicated no => added 0, deduplicated 0 | not replicated
0 add -q d --durability async async => added 1, deduplicated 0
0 add -q d --durability process process => added 1, deduplicated 0
0 add -q d --durability power power => added 1, deduplicated 0
0 ls -q d --state pending -o name => async\nprocess\npower
)");
  Expect(R"(
0 add -q l --priority -2147483648 last => added 1, deduplicated 0
0 add -q l --priority 2147483647 first => added 1, deduplicated 0
0 add -q l --priority 7 seven => added 1, deduplicated 0
0 add -q l --lane 7 lucky => added 1, deduplicated 0
0 add -q l --lane slow --group [x,y] slow => added 1, deduplicated 0
0 add -q l fast slow => added 1, deduplicated 1
0 add -q l --group other slow => added 0, deduplicated 1
0 add -q l fast moved => added 1, deduplicated 1
0 add -q l --priority -100 moved => added 0, deduplicated 1
0 ls -q l -o name => first\nseven\nlucky\nfast\nslow\nmoved\nlast
0 ls -q l --group [x,y] -o name => slow
0 work -q l --dry-run -- echo => echo first\necho seven\n
  echo lucky\necho fast\necho slow\necho moved\necho last
)");
  EXPECT_THAT(Out("inspect -q l -o table"),
              ::testing::HasSubstr(" 2147483647 1, 7 2, fast 1, slow 2, -2147483648 1 "));
}

TEST_F(ChangesTest, PausesAQueue) {
  Expect(R"(
0 pause -q q --for 1h30m --dry-run => would pause queue "q" for 1h30m
0 resume -q q --dry-run => would not resume queue "q": it is not paused
2 pause -q q => give --yes, or --dry-run
2 pause -q q --for 0 --yes => --for must be more than 0
2 resume -q q --for 1s --yes => unknown option "--for"
0 pause -q q --for 2h --yes => paused queue "q" for 2h
0 resume -q q --dry-run => would resume queue "q"
0 resume -q q --yes => resumed queue "q"
0 resume -q q --yes => queue "q" is not paused
0 pause -q q --yes => paused queue "q"
)");
  EXPECT_THAT(Out("inspect -q q"), ::testing::HasSubstr("paused        yes, until resume\n"));
  Out("pause -q q --for 1us --yes");
  EXPECT_THAT(Out("inspect -q q"), ::testing::HasSubstr("paused        no\n"));
}

TEST_F(ChangesTest, DeletesAQueue) {
  Out("pause -q q --yes");
  Expect(R"(
0 queue delete -q q --dry-run => would delete queue "q": pending 3,
   delayed 2, failing 2, quarantined 1, cursors 0
0 inspect -o name => q\nr
0 queue delete -q q --yes => deleted queue "q"
3 queue delete -q q --yes => no queue "q"
0 ls -o name => other
0 repair --into repaired =>
0 --store repaired inspect -o name => r
0 add -q q new => added 1, deduplicated 0
0 queue delete -q q --dry-run => would delete queue "q": pending 1,
   delayed 0, failing 0, quarantined 0, cursors 0
)");
  EXPECT_THAT(Out("inspect -q q"), ::testing::HasSubstr("paused        no\n"));
  Out("verify");
}

TEST_F(ChangesTest, Filters) {
  Expect(R"(
0 ls -o name => b\na\nc\nb\nbad\nalone\nheld\nother
0 ls -q r -o name => other
0 ls --state delayed,quarantined -o name => b\nbad\nheld
0 ls --state failing -o name => bad\nalone
0 dump --state quarantined -o name => held
0 errors --state failing -o name => no route\ntimed out
0 ls --lane slow -o name => c
0 ls --group ns -o name => b\nheld
0 ls --prefix b --limit 2 -o name => b\nb
0 ls --hex --prefix 62 --lane 7 -o name => 62
0 ls --match ^.[al].*d?$ -o name => bad\nalone
0 ls --error ROUTE -o name => bad\nheld
0 ls --failures-over 1 -o name => bad
0 ls --due-within 1m --now 2099-12-31T23:59:30Z -o name => b
0 ls --due-within 1h --now @9223372036854775807 -o name => b\nbad
0 ls --older-than 20000d -q r -o name => other
0 ls --older-than 20000d --now 2000-01-01T00:00:00Z -o name =>
0 ls --older-than 1h --now @-9223372036854775808 -o name =>
0 ls --sort-by key --limit 3 -o name => a\nalone\nb
0 ls --sort-by due --limit 2 -o name => b\nbad
0 ls --sort-by failures --limit 1 -o name => bad
0 ls --limit 0 -o name =>
0 ls --state failing --lane slow -o json => []
)");
}

// A process that owns the store, serves no socket, and ends when a third attempt is made to own it.
class EndingOwner final : public wq::FileCalls {
 public:
  EndingOwner() {
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(fd_, F_OFD_SETLK, &whole), 0);
    wq::UseFileCalls(this);
  }
  ~EndingOwner() override {
    wq::UseFileCalls(nullptr);
    close(fd_);
  }
  int Open(const std::string& path, int flags) override {
    if (path.ends_with("/OWNER") && ++attempts_ == 3) close(std::exchange(fd_, -1));
    return FileCalls::Open(path, flags);
  }

 private:
  int fd_ = open("store/OWNER", O_RDWR | O_CLOEXEC);
  int attempts_ = 0;
};

TEST_F(ChangesTest, AnOwnerThatIsAboutToEndIsWaitedFor) {
  for (const char* const line :
       {"add -q q new", "rm -q q --yes a", "pause -q q --yes", "queue delete -q q --yes"}) {
    const EndingOwner owner;
    const Ran ran = Run(Split(line));
    EXPECT_EQ(ran.code, 0) << line << ": " << ran.err;
  }
}

}  // namespace
}  // namespace wqctl
