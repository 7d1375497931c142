#include "server/errors/error_form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "server/errors/error_groups.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

std::string Form(std::string_view error, std::string_view key = "default/web-1") {
  return FormOf(WithoutKey(error, key));
}

TEST(ErrorForm, TheKeyIsBlankedAsAWholeWord) {
  EXPECT_EQ(Form("cannot reconcile default/web-1: gone"), "cannot reconcile <key>: gone");
  EXPECT_EQ(Form("pod web-1 is gone"), "pod <key> is gone");
  EXPECT_EQ(Form("pods \"web-1\" not found"), "pods \"<key>\" not found");
  EXPECT_EQ(Form("pod web-12 is gone"), "pod web-<n> is gone");
  EXPECT_EQ(Form("pod my-web-1 is gone"), "pod my-web-<n> is gone");
  EXPECT_EQ(Form("a default value", "default/ab"), "a default value");
  EXPECT_EQ(Form("ab", "x/ab"), "ab") << "two bytes are no name";
  EXPECT_EQ(Form("no key", ""), "no key");
}

TEST(ErrorForm, WhatDiffersBetweenErrorsOfOneCauseIsBlanked) {
  EXPECT_EQ(Form("Operation cannot be fulfilled on pods \"web-1\": the object has been modified; "
                 "please apply your changes to the latest version and try again"),
            "Operation cannot be fulfilled on pods \"<key>\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  EXPECT_EQ(Form("Get \"https://10.96.0.1:443/api/v1/pods\": dial tcp 10.96.0.1:443: i/o timeout"),
            "Get \"…\": dial tcp <address>: i/o timeout");
  EXPECT_EQ(Form("dial tcp [fd00::7]:6443: connect: connection refused"),
            "dial tcp <address>: connect: connection refused");
  EXPECT_EQ(Form("context deadline exceeded after 1m30.5s"),
            "context deadline exceeded after <time>");
  EXPECT_EQ(Form("token expired at 2026-11-23T07:20:11.5Z, now 2026-11-23 08:00:00"),
            "token expired at <time>, now <time>");
  EXPECT_EQ(Form("exit status 3"), "exit status <n>");
  EXPECT_EQ(Form("request 7b52009b64fd0a2a49e6d8a939753077792b0554 failed"), "request <id> failed");
  EXPECT_EQ(Form("uid 123e4567-e89b-12d3-a456-426614174000 conflicts"), "uid <id> conflicts");
  EXPECT_EQ(Form("at 0xc000123 in reconcile"), "at <id> in reconcile");
  EXPECT_EQ(Form("open /etc/ssl/certs/ca.pem: no such file"), "open <path>: no such file");
  EXPECT_EQ(Form("fetch http://registry.local/v2/x?y=1 failed"), "fetch <url> failed");
  EXPECT_EQ(Form("quota: 1023.5 of 1024 MiB used"), "quota: <n> of <n> MiB used");
}

TEST(ErrorForm, WordsStay) {
  EXPECT_EQ(Form("can't decode the deadbeef cafe: it isn't apps/v1"),
            "can't decode the deadbeef cafe: it isn't apps/v<n>");
  EXPECT_EQ(Form("a lone \" quote and a [bracket"), "a lone \" quote and a [bracket");
  EXPECT_EQ(Form("failed 'web-7'"), "failed '…'");
  EXPECT_EQ(Form("  two\n\tlines  "), "two lines");
  EXPECT_EQ(Form(""), "");
}

// Hostile texts: no crash, a bounded result, and the same form again.
TEST(ErrorForm, OfAnyBytesIsBounded) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("WQ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::string_view kPieces[] = {"\"", "'",  "/",   "[",  "]",   ":",    "0x",  "9",
                                          "a",  "f",  "://", "ns", "\n",  "\xFF", "é",   "<key>",
                                          "1.", "-1", "T",   " ",  "web", "-",    "\0x", "2026-"};
  for (int n = 0; n < 2000; ++n) {
    std::string error;
    const size_t pieces = random() % (n % 100 == 0 ? 20'000 : 60);
    for (size_t i = 0; i < pieces; ++i) error += kPieces[random() % std::size(kPieces)];
    std::string key;
    for (size_t i = random() % 4; i > 0; --i) key += kPieces[random() % std::size(kPieces)];
    const std::string form = Form(error, key);
    EXPECT_LE(form.size(), 8 * kMaxFormBytes);
    EXPECT_EQ(Form(error, key), form);
  }
}

// --- Groups ---

TEST(ErrorGroups, KeysOfOneCauseAreOneGroup) {
  ErrorGroups groups;
  for (int i = 1; i <= 5; ++i) {
    const std::string key = "default/web-" + std::to_string(i);
    const std::string error = "pods \"web-" + std::to_string(i) + "\" is forbidden";
    groups.Add({.queue = "pods",
                .key = key,
                .error = error,
                .failures = 2,
                .first_at_us = 100 - i,
                .last_at_us = 200 + i,
                .quarantined = i > 3});
  }
  groups.Add({.queue = "pods", .key = "x", .error = "exit status 1", .failures = 9});
  groups.Add({.queue = "nodes", .key = "x", .error = "exit status 2", .failures = 1});
  const std::vector<ErrorGroup> sorted = groups.Sorted();
  ASSERT_EQ(sorted.size(), 3U);
  EXPECT_EQ(sorted[0].form, "pods \"<key>\" is forbidden");
  EXPECT_EQ(sorted[0].keys, 5U);
  EXPECT_EQ(sorted[0].quarantined, 2U);
  EXPECT_EQ(sorted[0].failures, 10U);
  EXPECT_EQ(sorted[0].first_at_us, 95);
  EXPECT_EQ(sorted[0].last_at_us, 205);
  ASSERT_EQ(sorted[0].examples.size(), 3U);
  EXPECT_EQ(sorted[0].examples[2].key, "default/web-3");
  EXPECT_EQ(sorted[0].examples[2].error, "pods \"web-3\" is forbidden");
  EXPECT_EQ(sorted[1].queue, "nodes") << "equal numbers of keys: by queue";
  EXPECT_EQ(sorted[2].queue, "pods");
}

TEST(ErrorGroups, AreBounded) {
  ErrorGroups groups;
  constexpr uint64_t kForms = ErrorGroups::kMaxGroups + 500;
  for (uint64_t i = 0; i < kForms; ++i) {
    std::string error = "e";  // Letters only: each is a form of its own.
    for (uint64_t rest = i; rest > 0; rest /= 6) error += static_cast<char>('p' + rest % 6);
    groups.Add({.queue = "q", .key = "k", .error = error, .failures = 1});
  }
  const std::vector<ErrorGroup> sorted = groups.Sorted();
  uint64_t keys = 0;
  for (const ErrorGroup& group : sorted) keys += group.keys;
  EXPECT_EQ(sorted.size(), ErrorGroups::kMaxGroups);
  EXPECT_EQ(keys + groups.ungrouped(), kForms);
  EXPECT_GT(groups.ungrouped(), 0U);
}

}  // namespace
}  // namespace wq
