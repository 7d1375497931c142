// The rules of docs/semantics.md as a table of scenarios. Each is a script of calls on a queue's
// state, with the results and the states that follow from them. What the rules make of all other
// scripts is compared by tests/model.
//
// Steps are separated by ";". A step is a verb, its arguments, and perhaps ": " and what it results
// in. Times are in seconds; "-" is a hand-out of nothing. Of several keys the results follow each
// other. The verbs:
//
//   add KEY, after KEY DELAY, gather KEY (a debounced Add), fail KEY DELAY: `added`, `deduplicated`
//     or `held`. They take lane=, group=, why= and mode=replace or mode=resync.
//   get [N]: N keys, one by default; drain: all that are handed out.
//   dies KEY...: its worker has died: `yes`, or `fails` with delay=, or `no`.
//   done, back, remove, cancel, end, release, drop, delete KEY...: `yes`, or `no` if the key is in
//     another state; quarantine and forget have no result. A release takes delay=.
//   pause [DURATION], resume.
//   pass TIME: both clocks go on, and what is due fires; its number is the result.
//   wall TIME: the wall clock jumps.
//   crash: memory is lost; reopen: the same, and the next options are the default ones.
//   disk, counts: the records of keys, how many keys are in each state.
//   group, why, failures, again KEY: what is known of the key.
//
// At the end the records on the disk are those that memory asks for.

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

struct Scenario {
  const char* name;
  QueueOptions options;
  const char* steps;
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

const QueueOptions kPlain = {};
const QueueOptions kTwoLanes = {.order = Order::kTwoLanes};
const QueueOptions kMerged = {.order = Order::kTwoLanes, .merge_delays = true};
const QueueOptions kRaising = {.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane};
const QueueOptions kFairly = {.order = Order::kFair};
const QueueOptions kGathers = {.debounce = {5s, 20s}};
const QueueOptions kHourly = {.order = Order::kTwoLanes, .resync = {1h, 0}};
const QueueOptions kTwoRetries = {.order = Order::kTwoLanes, .max_requeues = 2};
const QueueOptions kReleasing = {.order = Order::kTwoLanes,
                                 .quarantined_add = QuarantinedAdd::kRelease};
const QueueOptions kOneOfEach = {.order = Order::kTwoLanes, .group_limits = {.max_processing = 1}};

const Scenario kScenarios[] = {
    // --- A key's states ---
    {"AddOfACleanKeyQueuesItAtTheBack", kPlain,
     "add c: added; add a; add b; counts: 3 queued; disk: c a b; get 4: c a b -"},
    {"AddOfAQueuedKeyIsDeduplicated", kPlain,
     "add a; add b; add a: deduplicated; counts: 2 queued; get 2: a b"},
    {"AnotherLaneMovesAQueuedKeyToItsBack", kTwoLanes,
     "add a lane=slow; add b lane=slow; add c; add a lane=fast: deduplicated; disk: c a slow:b;"
     "add c lane=slow; disk: a slow:b slow:c; add b lane=slow; get 3: a b c"},
    {"AddWhileProcessingQueuesTheKeyAtDone", kPlain,
     "add a; get: a; again a: no; add a: added; again a: yes; add a: deduplicated;"
     "counts: 1 processing; get: -; done a: yes; counts: 1 queued; disk: a; get 2: a -"},
    {"DoneOfADirtyKeyGoesToTheBack", kPlain,
     "add a; add b; get; add a; done a; disk: b a; drain: b a"},
    {"TheLatestLaneIsRememberedWhileProcessing", kTwoLanes,
     "add a lane=slow; get: a; add a lane=fast; disk: a; add a lane=slow; add a lane=fast;"
     "add b; done a; disk: b a"},
    {"DoneCleansAKeyOnDiskToo", kPlain,
     "add a; get: a; disk: a; done a: yes; counts: clean; disk: ; crash; counts: clean"},
    {"DoneOfAKeyThatIsNotProcessingChangesNothing", kPlain,
     "add a; done a b: no no; counts: 1 queued; get: a; done a a: yes no; counts: clean"},
    {"RemoveOfAQueuedKeyLeavesItsDelayAndFailures", kPlain,
     "add a; add b; fail b 1; remove a a b: yes no yes; disk: delayed:b@1s failing:b=1"},
    {"RemoveOfAProcessingKeyCancelsTheAddSinceGet", kPlain,
     "add a; get: a; remove a: no; add a; remove a: yes; disk: a; done a: yes; counts: clean"},
    {"DeleteLeavesNothingOfAKeyInAnyState", kPlain,
     "add queued; after delayed 1; fail failing 1; cancel failing; add all; fail all 1;"
     "quarantine bad; delete queued delayed failing all bad: yes yes yes yes yes;"
     "delete queued delayed failing all bad: no no no no no; disk: ; counts: clean; pass 1: 0"},
    {"DeleteOfAProcessingKeyLeavesItToItsWorker", kPlain,
     "add a; get: a; add a; fail a 1; delete a: yes; disk: a; counts: 1 processing;"
     "done a: yes; disk: ; counts: clean"},
    {"ACrashQueuesWhatWasProcessingBeforeWhatWasBehindIt", kPlain,
     "add a; add b; add c; get 2: a b; add b; done a; crash; counts: 2 queued; drain: b c;"
     "done b; disk: c"},

    // --- Giving back ---
    {"AKeyThatIsGivenBackIsTheFirstOfItsLane", kPlain,
     "add a; add b; add c; add d; get 3: a b c; back c a b: yes yes yes; back a d f: no no no;"
     "counts: 4 queued; drain: b a c d"},
    {"AfterACrashKeysThatWereGivenBackAreInTheirOrder", kPlain,
     "add a; add b; add c; get 2: a b; back a b; crash; drain: a b c"},
    {"AKeyThatIsGivenBackPassesOlderKeysOfOtherGroups", kOneOfEach,
     "add a1 group=a; add a2 group=a; add b1 group=b; get 2: a1 b1; done a1; back b1;"
     "drain: b1 a2; back a2 b1; drain: b1 a2"},
    {"AKeyThatWasAddedAgainIsGivenBackAsOneHandOut", kPlain,
     "add a; add b; get: a; wall 1; add a; back a; counts: 2 queued; again a: no; drain: a b"},
    {"AnAddSinceGetSetsTheLaneOfAKeyThatIsGivenBack", kTwoLanes,
     "add older lane=slow; add a; add younger lane=slow; get: a; add a lane=slow; back a;"
     "get: a; crash; drain: older a younger"},
    {"ADelayStaysWhenItsKeyIsGivenBack", kPlain,
     "add a; get; after a 1; back a; disk: a delayed:a@1s; get: a; done a; pass 1: 1; get: a"},
    {"ADelayIsMergedWhenItsKeyIsGivenBack", kMerged, "add a; get; after a 1; back a; disk: a"},
    {"WhatWasQuarantinedStaysThereWhatWasDeletedIsQueued", kPlain,
     "add a; add b; get 2: a b; quarantine a; fail b 1; delete b; back a b: yes yes;"
     "counts: 1 queued, 1 quarantined; disk: b quarantined:a=0"},
    {"AStartMayBeginWithALowerLane",
     {.order = Order::kTwoLanes, .starvation_bound = 3},
     "add s1 lane=slow; add s2 lane=slow; add f1; add f2; add f3; get: f1; done f1; crash; get: s1;"
     "get: f2; crash; get: s1; done s1; get: f2"},
    {"StartsServeTheLowerLaneWithTheOldestKey",
     {.order = Order::kPriorities, .starvation_bound = 3},
     "add c lane=1; add b lane=2; add a lane=3; add d lane=3; crash; get: c; done c; crash; get: "
     "b"},
    {"AKeyWhoseWorkersDieComesBackBehindTheOthersAndFails", kTwoRetries,
     "add a; add b; get: a; dies a: yes; disk: a b; get: a; dies a: yes; crash; get: b; done b;"
     "get: a; dies a a: yes no; get: a; dies a: yes; get: a;"
     "dies a delay=1: fails; failures a: 1; pass 1: 1; add d; get: a; dies a: yes; get 2: d a;"
     "dies a: yes; get: a; dies a delay=1: fails; pass 1: 1; get: a; dies a: yes; get: a;"
     "dies a: yes; get: a; dies a: fails; counts: 1 processing, 1 quarantined"},
    {"ADoneEndsTheRowOfDeaths", kPlain,
     "add a; add b; get: a; dies a; get: a; done a; add a; get: b; get: a; add c; dies a; get: a;"
     "back a; get: a; quarantine a; dies a; release a; get: c; get: a; dies a; get: a"},
    {"AQuarantineAndARemoveEndTheRowOfDeathsOfAHeldKey", kPlain,
     "add a; get: a; dies a: yes; get: a; dies a: yes; get: a; quarantine a; release a; dies a: "
     "yes;"
     "get: a; dies a: yes; get: a; add a; remove a; dies a: yes; get: a"},
    {"AFairOrderServesTheGroupOfAKeyThatIsGivenBackNext", kFairly,
     "add a1 group=a; add a2 group=a; add b1 group=b; add c1 group=c; get 3: a1 b1 c1;"
     "back c1 b1 a1; drain: a1 b1 c1 a2"},
    {"TheStarvationBoundCountsHandOutsThatWereGivenBack",
     {.order = Order::kTwoLanes, .starvation_bound = 3},
     "add slow lane=slow; add a; get: a; back a; get: a; back a; get: slow"},

    // --- Delays ---
    {"ADelayFiresWhenDueAndNotAMicrosecondEarlier", kPlain,
     "after a 5: added; counts: 1 delayed; disk: delayed:a@5s; pass 4.999999: 0; pass 0.000001: 1;"
     "disk: a; after b 0: added; counts: 2 queued"},
    {"TheEarlierDelayWins", kPlain,
     "after a 5; after a 9: deduplicated; disk: delayed:a@5s; after a 2: added; pass 2: 1;"
     "pass 20: 0; counts: 1 queued"},
    {"TheLatestCallWinsIfItSaysSo", kPlain,
     "after a 5; after a 8 mode=replace: added; after a 3 mode=replace: added;"
     "after a 3 mode=replace: deduplicated; crash; disk: delayed:a@3s"},
    {"EndDelayMakesAKeyPendingNowAndCancelDelayDropsIt", kPlain,
     "fail a 3600; after b 1; end a a: yes no; cancel b b: yes no; disk: a failing:a=1; pass 1: 0"},
    {"AddLeavesADelayAloneWhichMayFireIntoDirty", kPlain,
     "after a 5; add a; counts: 1 queued, 1 delayed; get; done a; counts: 1 delayed; add a; get;"
     "pass 5: 1; again a: yes; counts: 1 processing; done a; counts: 1 queued"},
    {"EqualDelaysFireInTheOrderOfTheirAddsAndByKeyAfterACrash", kPlain,
     "after c 3; pass 1; after b 2; after a 2; pass 2: 3; drain: c b a; done a b c;"
     "after b 1; after a 1; crash; pass 1: 2; drain: a b"},
    {"OverdueDelaysFireAtOnceInTheirOrder", kPlain,
     "after b 2; after a 1; after later 100; wall 50; crash; pass 0: 2; drain: a b;"
     "pass 49.999999: 0; pass 0.000001: 1"},
    {"AClockSetBackBeginsADelayAgainOnceOverAllRestarts", kPlain,
     "after a 3; wall -3600; crash; pass 2: 0; crash; pass 0.999999: 0; crash; pass 0.000001: 1"},
    {"AClockThatIsRightAgainEndsADelayAtItsReadyTime", kPlain,
     "after a 30; wall -3600; crash; pass 2; wall 3600; crash; pass 27.999999: 0; pass 0.000001: "
     "1"},
    {"SettingTheClockMovesNoDelayOfARunningQueue", kPlain,
     "after a 5; wall -86400; pass 4.999999: 0; pass 0.000001: 1; get; done a;"
     "after a 5; wall 86400; pass 4.999999: 0; pass 0.000001: 1"},

    // --- Merged delays ---
    {"MergedAnAddLeavesAResyncWhichIsDueAPeriodAfterTheDone",
     {.order = Order::kTwoLanes, .resync = {0s, 0}, .merge_delays = true},
     "after a 60 mode=resync; pass 30; add a; get; done a; disk: delayed:slow:a@60s;"
     "add a; after a 60 mode=resync: added; get; pass 10; back a; get; done a;"
     "disk: delayed:slow:a@60s; add b; after b 60 mode=resync: added; get; pass 10; done b;"
     "disk: delayed:slow:a@50s delayed:slow:b@60s"},
    {"MergedAnAddCancelsADelay", kMerged,
     "after a 5; add a: added; disk: a; fail b 5; fail b 0; disk: a b failing:b=2"},
    {"MergedADelayOfADirtyKeyIsAnAdd", kMerged,
     "add a; after a 5 lane=slow: deduplicated; disk: slow:a; get; add a;"
     "after a 5: deduplicated; counts: 1 processing"},
    {"MergedAHeldKeyMayBeDelayedAndBothAreKeptOverACrash", kMerged,
     "add a; get; after a 9: added; after a 5: added; crash; disk: a delayed:a@5s; get; done a;"
     "counts: 1 delayed; crash; add a; disk: a"},

    // --- Debounced Adds ---
    {"AKeyIsReadyWhenItIsQuiet", kGathers,
     "gather a: added; pass 4: 0; gather a: deduplicated; pass 4.999999: 0; pass 0.000001: 1"},
    {"AKeyThatIsNeverQuietIsReadyAtTheLongestWaitOverCrashesAndClockJumps", kGathers,
     "gather a; pass 4; crash; gather a; pass 4; wall 3600; gather a; pass 4; gather a;"
     "wall -3600; pass 4; gather a; pass 3.999999: 0; gather a; pass 0.000001: 1"},
    {"AQueuedKeyIsNotGatheredAndAHeldOneIs", kGathers,
     "add a; gather a: deduplicated; disk: a; get: a; gather a: added; disk: a delayed:a@5s;"
     "done a; get: -; pass 5: 1; get: a"},
    {"AnEarlierDelayStaysAndALaterOneIsReplacedByAGatheredAdd", kGathers,
     "after a 3; gather a; disk: delayed:a@3s; after b 3600; gather b;"
     "disk: delayed:a@3s delayed:b@5s; after b 60 mode=replace; gather b;"
     "disk: delayed:a@3s delayed:b@5s"},
    {"AnEarlierReminderEndsTheWaitAndMayBeProlonged", kGathers,
     "gather a; after a 2; disk: delayed:a@2s; pass 1; gather a; disk: delayed:a@5s"},

    // --- Resyncs ---
    {"AKeyIsResyncedInTheSlowLaneAPeriodAfterItsDone", kHourly,
     "add a; get; done a; disk: delayed:slow:a@3600s; pass 3599.999999: 0; pass 0.000001: 1;"
     "disk: slow:a; get; done a; crash; disk: delayed:slow:a@3600s"},
    {"AKeyThatIsReconciledMeanwhileIsPutOffByMoreThanATenth", kHourly,
     "add a; get; done a; pass 360; add a: added; disk: a delayed:slow:a@3240s; get; done a;"
     "disk: delayed:slow:a@3240s; pass 1; add a; get; done a; disk: delayed:slow:a@3600s"},
    {"AResyncThatIsDueWhileTheKeyIsHeldBeginsAnew", kHourly,
     "add a; get; done a; add a; get; pass 3600: 1; disk: a delayed:slow:a@3600s; again a: no"},
    {"AKeyThatIsDeletedWhileItIsHeldIsNotResynced", kHourly,
     "add a; get; delete a; done a; disk: ; add a; get; delete a; add a; done a; get: a; done a;"
     "disk: delayed:slow:a@3600s"},
    {"AnyOtherDelayReplacesAResyncAndIsKeptByDone", kHourly,
     "add a; get; done a; after a 18000: added; add a; get; done a; disk: delayed:a@18000s;"
     "after a 1 mode=resync: deduplicated; disk: delayed:a@18000s"},

    // --- Failures and quarantine ---
    {"FailuresSurviveACrashUntilForget", kPlain,
     "add a; get; fail a 5; fail a 5; done a; disk: delayed:a@5s failing:a=2; crash;"
     "failures a: 2; forget a; failures a: 0; crash; failures a: 0; counts: 1 delayed"},
    {"AKeyThatFailsTooOftenIsQuarantinedAndAnAddIsHeld", kTwoRetries,
     "fail a 1: added; fail a 1; fail a 1: held; pass 1: 0; disk: quarantined:a=3; crash;"
     "add a: held; after a 1: held; fail a 1: held; forget a; failures a: 3;"
     "counts: 1 quarantined; drop a a: yes no; disk: "},
    {"AReleaseAddsTheKeyToItsLaneAndGroupWithoutFailures", kTwoRetries,
     "add a lane=slow group=g; fail a 0; quarantine a; crash; release a a: yes no; disk: slow:a;"
     "group a: g; quarantine a; release a delay=2; crash; disk: delayed:slow:a@2s; group a: g"},
    {"AnAddThatReleasesAKeyLeavesItInItsLaneAndGroup", kReleasing,
     "add a lane=slow group=g; quarantine a; add a group=h: added; disk: slow:a; group a: g;"
     "quarantine a; after a 2: added; disk: delayed:slow:a@2s; group a: g;"
     "quarantine a; gather a: added; disk: delayed:slow:a@5s; group a: g;"
     "quarantine a; after a 0; disk: slow:a; quarantine a; crash; add a; disk: slow:a; group a: g;"
     "quarantine a; add a lane=fast; disk: a; group a: g"},
    {"AQueuedDelayedOrHeldKeyCanBeQuarantined", kPlain,
     "add held; add queued; after delayed 1; get: held; add held; quarantine queued;"
     "quarantine delayed; quarantine held; quarantine unknown;"
     "counts: 1 processing, 4 quarantined; pass 1: 0; crash; counts: 4 quarantined"},

    // --- Order ---
    {"TheFastLaneIsServedFirstAndLanesSurviveACrash", kTwoLanes,
     "add s1 lane=slow; add f1; add s2 lane=slow; add f2; disk: f1 f2 slow:s1 slow:s2; get: f1;"
     "crash; drain: f1 f2 s1 s2"},
    {"AnAddWithoutALaneAndARequeueKeepTheLane", kTwoLanes,
     "add a lane=slow; add a; disk: slow:a; get; add a; done a; disk: slow:a; get; fail a 1;"
     "done a; crash; pass 1; disk: slow:a failing:a=1"},
    {"AFiringDelayNeverPutsAKeyIntoALowerLane", kTwoLanes,
     "after a 1 lane=slow; add a lane=fast; after b 1 lane=fast; add b lane=slow; pass 1: 2;"
     "disk: a b"},
    {"ListedLanesAreServedHighestFirst",
     {.order = Order::kLanes, .lanes = {5, -3, 20}},
     "add low lane=-3; add normal; add high lane=20; add raised lane=5; crash;"
     "drain: high raised normal low"},
    {"AHigherPriorityIsSeenByTheVeryNextGet",
     {.order = Order::kPriorities},
     "add low lane=1; add min lane=-2147483648; add max lane=2147483647; add b; get: max;"
     "add high lane=2; get: high; drain: low b min"},
    {"AReAddMayOnlyRaiseThePriorityButTheFirstOneOfAHeldKeySetsIt", kRaising,
     "add a lane=10; add b lane=5; add c lane=1; add a lane=1; add c lane=7; drain: a c b;"
     "add a lane=2; add a lane=1; disk: 7:c 5:b 2:a; add a lane=3; disk: 7:c 5:b 3:a"},
    {"ADelayAndAnAddOnlyRaiseThePriorityOfADelay", kRaising,
     "after a 60 lane=10; after a 1 lane=2; disk: delayed:10:a@1s; after a 60 lane=11;"
     "disk: delayed:11:a@1s; add a lane=3; disk: 11:a delayed:11:a@1s"},
    {"OneOfEveryNHandOutsComesFromTheLowerLaneWhoseTurnItIs",
     {.order = Order::kPriorities, .starvation_bound = 2},
     "add l1 lane=1; add l2 lane=1; add m1 lane=2; add m2 lane=2; add a lane=3; add b lane=3;"
     "add c lane=3; add d lane=3; get 5: a m1 b l1 c; add n lane=-1; get 2: n d;"
     "drain: l2 m2"},
    {"ALaneOfClosedGroupsHasNoTurn",
     {.order = Order::kPriorities, .starvation_bound = 2, .group_limits = {.max_processing = 1}},
     "add g1 group=g lane=2; add g2 group=g lane=2; add l1 lane=1; add l2 lane=1; add a lane=3;"
     "add b lane=3; add c lane=3; add d lane=3; get 5: a g1 b l1 c; done g1; get 3: g2 d l2"},
    {"ALaneThatLimitsCloseInBetweenHasItsTurn",
     {.order = Order::kTwoLanes, .starvation_bound = 2, .group_limits = {.max_processing = 1}},
     "add s group=g lane=slow; add g1 group=g; add x1; add g2 group=g; add x2; get 2: g1 x1;"
     "done g1; get: s"},
    {"GroupsAreServedInTurn", kFairly,
     "add a1 group=a; add a2 group=a; add a3 group=a; add b1 group=b; add x; add y;"
     "crash; drain: a1 b1 x a2 y a3"},
    {"AKeyKeepsItsGroupAsLongAsItIsKnown", kFairly,
     "add k group=first; add k group=second; get; add k group=third; after k 1; done k; get;"
     "done k; crash; group k: first; pass 1; get; done k; add k group=fourth; group k: fourth"},
    {"AnOrderWithoutTheLaneTakesItsKeysAtTheBack", kTwoLanes,
     "add s1 lane=slow; add f1; add s2 lane=slow; reopen; disk: f1 s1 s2; crash; drain: f1 s1 s2"},

    // --- Limits on hand-outs ---
    {"TheNextKeyOfAnotherGroupPassesAGroupAtItsLimit", kOneOfEach,
     "add a1 group=a; add a2 group=a; add b1 group=b lane=slow; add x lane=slow;"
     "get 4: a1 b1 x -; done b1 a1; get 2: a2 -; back a2; get: a2; crash; get 3: a2 x -"},
    {"TheQueueHasALimitOfItsOwn",
     {.limits = {.max_processing = 2}},
     "add a; add b; add c; get 3: a b -; done b; get: c"},
    {"ARateHoldsAGroupBackUntilItsBucketHasAToken",
     {.group_limits = {.rate = {.per_second = 2, .burst = 2}}},
     "add a1 group=a; add a2 group=a; add a3 group=a; add b1 group=b; get 4: a1 a2 b1 -;"
     "pass 0.499999; get: -; pass 0.000001; get 2: a3 -"},
    {"TheTokensOfARateAreMemory",
     {.group_limits = {.rate = {.per_second = 0.1}}},
     "add a1 group=a; add a2 group=a; get: a1; done a1; pass 4; get: -; crash; get: a2"},

    // --- Causes ---
    {"AKeyHasTheCausesOfAllItsAddsSinceTheHandOut", kPlain,
     "add a why=created; add a why=changed; add a why=created; why a: created changed; get: a;"
     "add a why=y; why a: created changed; done a; why a: y; get; add a why=z; crash; why a: y z;"
     "get; done a; why a: "},
    {"ARetryAndAKeyThatIsGivenBackHaveTheCausesOfTheAttempt", kPlain,
     "add a why=x; get; fail a 1; done a; crash; why a: x; pass 1; get: a; fail a 0; done a;"
     "get: a; add a why=y; back a; why a: x y"},
    {"ADelayBringsItsCausesToTheAddThatItBecomes", kPlain,
     "after a 1 why=x; after a 2 why=y; add a why=z; crash; pass 1; why a: z x y"},
    {"WhatEndsTheNeedEndsTheCauses", kPlain,
     "add a why=x; remove a; add a; why a: ; after b 1 why=x; cancel b; add b; why b: ;"
     "add c why=x; quarantine c; release c; why c: ; add d why=x; get 4; add d why=y;"
     "remove d; crash; why d: x"},

    // --- Shards and pausing ---
    {"OneKeyOfAShardAtATime",
     {.shards = 1},
     "add a; add b; get 2: a -; crash; get 2: a -; back a; get: a; done a; get: b"},
    {"APausedQueueHandsNothingOut", kPlain,
     "add a; pause; get: -; crash; pass 1000000; get: -; resume; crash; get: a; done a;"
     "add b; pause 10; pass 4; crash; pass 5.999999; get: -; pass 0.000001; get: b"},
    {"AClockSetBackBeginsAPauseAgainOnceOverAllRestarts", kPlain,
     "add a; pause 3; wall -3600; crash; pass 2: 0; crash; pass 0.999999: 0; crash; get: -;"
     "pass 0.000001: 1; get: a; pause 3; wall -3600; crash; resume; pause; crash; pass 3600: 0"},
    {"AClockThatIsRightAgainEndsAPauseAtItsTime", kPlain,
     "pause 30; wall -3600; crash; pass 2; wall 3600; crash; pass 27.999999: 0; pass 0.000001: 1"},
    {"SettingTheClockMovesNoPauseOfARunningQueue", kPlain,
     "pause 5; wall -86400; pass 4.999999: 0; pass 0.000001: 1; pause 5; wall 86400;"
     "pass 4.999999: 0; pass 0.000001: 1"},
};

// Runs the steps of one scenario.
class ScenarioTest : public ::testing::TestWithParam<Scenario>, public StateFixture {
 protected:
  ScenarioTest() : StateFixture(GetParam().options) {}

  void RunStep(const std::string& step) {
    const size_t colon = step.find(": ");
    std::istringstream words(step.substr(0, colon));
    words >> verb_;
    words_.clear();
    named_.clear();
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      equals == std::string::npos ? words_.push_back(word)
                                  : void(named_[word.substr(0, equals)] = word.substr(equals + 1));
    }
    const std::string result = Call();
    if (colon != std::string::npos) {
      EXPECT_EQ(result, step.substr(colon + 2));
    }
  }

 private:
  std::string Call() {
    if (verb_ == "add" || verb_ == "after" || verb_ == "gather" || verb_ == "fail") {
      return Adding();
    }
    if (verb_ == "get" || verb_ == "drain") {
      return HandOuts();
    }
    if (verb_ == "pass") {
      return std::to_string(Advance(Us(words_.at(0))));
    }
    if (verb_ == "disk" || verb_ == "counts") {
      return verb_ == "disk" ? Disk() : Counts();
    }
    if (verb_ == "wall") {
      now.wall_us += Us(words_.at(0));
    } else if (verb_ == "crash") {
      Crash();
    } else if (verb_ == "reopen") {
      Reopen(kPlain);
    } else if (verb_ == "pause" && words_.empty()) {
      Do([this](QueueState& s) { return s.Pause(std::nullopt, now), 0; });
    } else if (verb_ == "pause") {
      Do([this](QueueState& s) { return s.Pause(Us(words_[0]), now), 0; });
    } else if (verb_ == "resume") {
      Do([](QueueState& s) { return s.Resume(), 0; });
    } else {
      return OfEachKey();
    }
    return "";
  }

  std::string Adding() {
    QueueState::Wanted wanted{.group = named_["group"], .reason = named_["why"]};
    if (const std::string& lane = named_["lane"]; !lane.empty()) {
      wanted.lane = lane == "slow" ? kSlowLane : lane == "fast" ? kFastLane : std::stoi(lane);
    }
    if (const std::string& mode = named_["mode"]; !mode.empty()) {
      wanted.delay_mode = mode == "resync" ? DelayMode::kResync : DelayMode::kReplace;
    }
    const std::string& key = words_.at(0);
    const AddOutcome outcome =
        Do([&](QueueState& s) {
          return verb_ == "add"      ? s.Add(key, wanted, now.wall_us)
                 : verb_ == "gather" ? s.AddDebounced(key, kGathers.debounce, wanted, now)
                 : verb_ == "after"
                     ? s.AddAfter(key, Us(words_.at(1)), wanted, now)
                     : s.AddRateLimited(key, {.delay_us = Us(words_.at(1))}, wanted, now);
        }).outcome;
    return outcome == AddOutcome::kAdded          ? "added"
           : outcome == AddOutcome::kDeduplicated ? "deduplicated"
                                                  : "held";
  }

  std::string HandOuts() {
    std::string keys;
    for (int n = verb_ == "drain" ? 100 : words_.empty() ? 1 : std::stoi(words_[0]); n > 0; --n) {
      const std::string key = state().NeedsTime() ? Take() : Get();
      if (key.empty() && verb_ == "drain") {
        break;
      }
      Append(key.empty() ? "-" : key, &keys);
    }
    return keys;
  }

  std::string OfEachKey() {
    const int64_t delay_us = named_.contains("delay") ? Us(named_["delay"]) : 0;
    const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
    const std::map<std::string, std::function<std::string(QueueState&, const std::string&)>> verbs =
        {{"done", [&](auto& s, auto& key) { return yes(s.Done(key, now)); }},
         {"back", [&](auto& s, auto& key) { return yes(s.PutBack(key)); }},
         {"dies",
          [&](auto& s, auto& key) {
            if (!s.DeathFails(key)) return yes(s.PutBackDead(key));
            s.FailDead(key, {.delay_us = delay_us, .error = "dead"}, {}, now);
            return std::string("fails");
          }},
         {"remove", [&](auto& s, auto& key) { return yes(s.Remove(key)); }},
         {"cancel", [&](auto& s, auto& key) { return yes(s.CancelDelay(key)); }},
         {"end", [&](auto& s, auto& key) { return yes(s.EndDelay(key, now)); }},
         {"release", [&](auto& s, auto& key) { return yes(s.Release(key, delay_us, now)); }},
         {"drop", [&](auto& s, auto& key) { return yes(s.Drop(key)); }},
         {"delete", [&](auto& s, auto& key) { return yes(s.Delete(key)); }},
         {"quarantine", [&](auto& s, auto& key) { return s.Quarantine(key, "why", now), ""; }},
         {"forget", [&](auto& s, auto& key) { return s.Forget(key), ""; }},
         {"again", [&](auto& s, auto& key) { return yes(s.AddedAgain(key)); }},
         {"failures", [&](auto& s, auto& key) { return std::to_string(s.NumRequeues(key)); }},
         {"group", [&](auto& s, auto& key) { return std::string(s.Find(key)->group_name()); }},
         {"why", [&](auto& s, auto& key) { return WhyOf(s, key); }}};
    std::string results;
    for (const std::string& key : words_) {
      Append(Do([&](QueueState& s) { return verbs.at(verb_)(s, key); }), &results);
    }
    return results;
  }

  static std::string WhyOf(const QueueState& state, const std::string& key) {
    Causes causes;
    static_cast<void>(state.CausesOf(key, &causes));
    std::string reasons;
    for (const Cause& cause : causes.list) {
      Append(cause.reason, &reasons);
    }
    return reasons;
  }
  static void Append(std::string_view word, std::string* text) {
    text->append(text->empty() ? "" : " ").append(word);
  }
  static int64_t Us(const std::string& seconds) {
    return std::llround(std::stod(seconds) * kSecond);
  }

  std::string verb_;
  std::vector<std::string> words_;  // The arguments that have no name.
  std::map<std::string, std::string> named_;
};

TEST_P(ScenarioTest, EachStepResultsInWhatTheTableSays) {
  std::istringstream steps(GetParam().steps);
  for (std::string step; std::getline(steps, step, ';') && !HasFailure();) {
    SCOPED_TRACE(std::string(GetParam().name) + ", step: " + step);
    RunStep(step);
  }
  EXPECT_EQ(RowsThatDiffer(), 0U) << "memory and disk differ";
}

INSTANTIATE_TEST_SUITE_P(Table, ScenarioTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq
