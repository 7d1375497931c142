// -o: every verb that lists knows every format, every verb that reports an outcome those of
// outcomes. And what becomes of the output where nobody reads it, or not at once.

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/wqctl/unit/in_process.h"
#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/text/dump_line.h"
#include "tools/wqctl/text/json.h"

namespace wqctl {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const Words kListing = {"text", "table", "wide", "json", "jsonl", "name"};
const Words kOutcome = {"text", "json", "jsonl"};

bool Has(const std::string& format, const std::string& text) {
  if (format == "json") return json::accept(text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (format == "jsonl" ? !json::accept(line) : line.find_first_of("{[") == 0) return false;
    if (format == "name" && line.find("  ") != line.npos) return false;
  }
  return !text.empty();
}

class FormatsTest : public WqctlTest {
 protected:
  // A store with an entry in each state, and a damaged copy of it.
  FormatsTest() {
    std::ofstream("lines") << R"({"queue":"q","key":"a","state":"pending"}
{"queue":"q","key":"b","state":"pending"}
{"queue":"q","key":"later","state":"delayed","ready_at":"2100-01-01T00:00:00Z"}
{"queue":"q","key":"held/long-name/that-nobody-would-like-to-read","state":"quarantined",)"
                              R"("failures":1,"last_error":"no"}
{"queue":"r","key":"b","state":"delayed","ready_at":"2100-01-01T00:00:00Z"}
)";
    Out("load lines");
    Out("snapshot create --name s snapshots");
    Out("snapshot create --copy --name t others");
    for (const auto& entry : std::filesystem::directory_iterator("others/t")) {
      if (entry.path().extension() == ".sst") std::fstream(entry.path()).seekp(10) << "damage";
    }
  }

  // Each line of the list prints something in each format, and ends with one of the codes.
  static void Each(const Words& formats, const std::string& list, int code) {
    for (const std::string& format : formats) {
      for (const char* made : {"repaired", "copy", "snapshots/n", "restored"}) {
        std::filesystem::remove_all(made);
      }
      std::istringstream lines(list);
      for (std::string line; std::getline(lines, line, ',');) {
        const Ran ran = Run(Split(line + " -o " + format));
        EXPECT_EQ(ran.code, code) << line << ": " << ran.err;
        EXPECT_TRUE(Has(format, ran.out)) << line << " -o " << format << ":\n" << ran.out;
      }
    }
  }
};

TEST_F(FormatsTest, OfEveryVerb) {
  Each(kListing, "inspect,inspect a,ls,errors,dump,watch --count 1,snapshot ls snapshots", 0);
  Each(kListing, "--store others/t verify,--store others/t repair --into repaired", 5);
  Each(kOutcome,
       "add -q q k,--store copy load lines,snapshot create --name n snapshots,"
       "snapshot restore snapshots/s --into restored,rm -q q --yes k,"
       "delete -q q --all --dry-run,cancel-delay -q q --all --dry-run,"
       "requeue -q q --all --dry-run,forget -q q --all --dry-run",
       0);
  EXPECT_EQ(Run(Split("rm -q q --dry-run -o jsonl a nope")).out,
            "{\"removed\":1,\"not_found\":1,\"dry_run\":true}\n");
  for (const VerbAbout& verb : AboutVerbs()) {
    const OptionAbout* const output = verb.Find("--output");
    if (output == nullptr || output->Choices().empty() || verb.name == "replication status")
      continue;
    EXPECT_THAT(output->Choices(), ::testing::AnyOf(kListing, kOutcome)) << verb.name;
  }
}

TEST_F(FormatsTest, InspectAKey) {
  const std::string inspect = "inspect b --now 2100-01-01T00:00:00Z";
  EXPECT_THAT(Out(inspect), HasSubstr("queue q: pending\n"));
  for (const char* format : {" -o table", " -o wide"})
    EXPECT_EQ(Out(inspect + format), Out(inspect));
  EXPECT_EQ(json::parse(Out("inspect b -q q -o jsonl"))["position"], 1);
  EXPECT_EQ(json::parse(Out("inspect -q q -o jsonl"))["pending"], 2);
  EXPECT_EQ(Out("inspect b -o name"), "q\nr\n");
  EXPECT_EQ(Out("dump -o name"), "a\nb\nlater\nheld/long-name/that-nobody-would-like-to-read\nb\n");
  EXPECT_EQ(Out("watch --count 2 --interval 100ms -o name"), "q\nr\nq\nr\n");
}

class StreamsTest : public WqctlTest {
 protected:
  StreamsTest() {
    Out("init");
    for (int i = 0; i < 20000; ++i) keys_ += "key-" + std::to_string(i) + "\n";
  }
  // The line's result, and what it writes to a pipe.
  static Ran Piped(const std::string& line, bool read, int flags) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETFL, flags);
    std::string got;
    std::thread reader([&] {
      char bytes[1000];
      for (ssize_t n = 1; read && (n = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
        got.append(bytes, static_cast<size_t>(n));
      }
      close(ends[0]);
    });
    if (!read) reader.join();
    Ran ran = Run(Split(line), "", -1, ends[1]);
    close(ends[1]);
    if (read) reader.join();
    ran.out = got;
    return ran;
  }

  std::string keys_;
};

TEST_F(StreamsTest, WithoutAReaderItEndsSilently) {
  Run(Split("add -q q -"), keys_);
  for (const char* line :
       {"dump", "dump -o table", "ls", "ls -o json", "ls -o name", "inspect", "man", "watch"}) {
    const Ran ran = Piped(line, false, 0);
    EXPECT_EQ(ran.code, 0) << line;
    EXPECT_EQ(ran.err, "") << line;
  }
}

// As another process may have made them. They are waited for.
TEST_F(StreamsTest, DescriptorsThatDoNotBlock) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::thread writer([&] {
    EXPECT_EQ(write(ends[1], keys_.data(), keys_.size()), static_cast<ssize_t>(keys_.size()));
    close(ends[1]);
  });
  EXPECT_EQ(Run(Split("add -q q -"), "", ends[0]).out, "added 20000, deduplicated 0\n");
  writer.join();
  close(ends[0]);
  EXPECT_EQ(Piped("ls -o name", true, O_NONBLOCK).out, keys_);
}

TEST_F(StreamsTest, AFullDiskAndADirectoryAsStdin) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int directory = open("/", O_RDONLY | O_CLOEXEC);
  for (const char* line : {"add -q q a", "init", "dump", "dump -o json", "dump -o table", "inspect",
                           "inspect -o json", "inspect a", "rm -q q --yes a"}) {
    const Ran ran = Run(Split(line), "", -1, full);
    EXPECT_EQ(ran.code, 1) << line;
    EXPECT_THAT(ran.err, HasSubstr("cannot write to standard output: No space left on device"));
  }
  EXPECT_EQ(Out("ls -o name"), "");  // The changes were made.
  EXPECT_THAT(Run(Split("add -q q -"), "", directory).err,
              HasSubstr("cannot read standard input: Is a directory"));
  close(directory);
  close(full);
}

TEST(DamagedNames, AreShown) {
  wq::QueueSummary queue;
  queue.name = "\xffq";
  queue.cursors["\xff"] = 1;
  EXPECT_THAT(SummaryLines({queue}, 0), HasSubstr("\uFFFDq"));
  wq::QueueInfo info;
  info.name = queue.name;
  std::string line;
  AppendDumpLine(info, /*hex=*/false, &line);
  EXPECT_THAT(line, HasSubstr("\uFFFDq"));
}

// main opens files of these modes in the place of closed descriptors.
TEST_F(StreamsTest, ClosedStandardDescriptors) {
  Out("add -q q a");
  const int not_written = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int not_read = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const char* line :
       {"dump", "dump -o json", "ls", "ls -o name", "inspect", "errors", "help",
        "work -q q -- true", "work -q q -j 2 -- true", "work -q q --dry-run -- true"}) {
    const Ran ran = Run(Split(line), "", -1, not_written);
    EXPECT_EQ(ran.code, 1) << line;
    EXPECT_THAT(ran.err, HasSubstr("cannot write to standard output")) << line;
  }
  for (const char* line : {"add -q q -", "add -q q b -", "add -q q -0", "load", "load -"}) {
    const Ran ran = Run(Split(line), "", not_read);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr("standard input is closed")) << line;
  }
  EXPECT_EQ(Out("ls -o name"), "a\n");  // Nothing was handed out, and nothing added.
  close(not_read);
  close(not_written);
}

}  // namespace
}  // namespace wqctl
