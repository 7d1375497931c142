// wqctl dump: every entry, streaming. Changes nothing.
#include <memory>
#include <string>
#include <vector>

#include "tools/wqctl/duration.h"
#include "tools/wqctl/exit_code.h"
#include "tools/wqctl/json.h"
#include "tools/wqctl/output.h"
#include "tools/wqctl/table.h"
#include "tools/wqctl/verbs.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

// Where the rows go. A row that returns false ends the dump.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual bool Row(const std::string& queue, const wq::Entry& entry) = 0;
  // After the last row. What was cut off by an error must not look complete.
  virtual void End(bool complete) = 0;
};

class JsonLines final : public RowWriter {
 public:
  explicit JsonLines(Output* out) : out_(out) {}
  bool Row(const std::string& queue, const wq::Entry& entry) override {
    line_.clear();
    AppendEntryJson(queue, entry, &line_);
    line_.push_back('\n');
    return out_->Write(line_);
  }
  void End(bool) override {}

 private:
  Output* const out_;
  std::string line_;
};

class JsonArray final : public RowWriter {
 public:
  explicit JsonArray(Output* out) : out_(out) {}
  bool Row(const std::string& queue, const wq::Entry& entry) override {
    line_.assign(first_ ? "[\n" : ",\n");
    first_ = false;
    AppendEntryJson(queue, entry, &line_);
    return out_->Write(line_);
  }
  void End(bool complete) override {
    if (complete) out_->Write(first_ ? "[]\n" : "\n]\n");
  }

 private:
  Output* const out_;
  bool first_ = true;
  std::string line_;
};

class TableRows final : public RowWriter {
 public:
  explicit TableRows(Output* out)
      : table_({"QUEUE", "KEY", "STATE", "LANE", "SEQUENCE", "ADDED AT", "READY AT", "FAILURES",
                "LAST ERROR"},
               out) {}
  bool Row(const std::string& queue, const wq::Entry& entry) override {
    const bool pending = entry.state == wq::EntryState::kPending;
    const bool delayed = entry.state == wq::EntryState::kDelayed;
    return table_.Add({wq::EscapeKey(queue), wq::EscapeKey(entry.key),
                       std::string(StateName(entry.state)),
                       pending || delayed ? wq::LaneName(entry.lane) : "-",
                       pending ? std::to_string(entry.sequence) : "-",
                       pending || delayed ? FormatTime(entry.added_at_us) : "-",
                       delayed ? FormatTime(entry.ready_at_us) : "-",
                       std::to_string(entry.failures ? entry.failures->count : 0),
                       entry.failures ? wq::EscapeKey(entry.failures->last_error) : "-"});
  }
  void End(bool) override { table_.Finish(); }

 private:
  Table table_;
};

std::unique_ptr<RowWriter> MakeWriter(Format format, Output* out) {
  if (format == Format::kJson) return std::make_unique<JsonArray>(out);
  if (format == Format::kTable) return std::make_unique<TableRows>(out);
  return std::make_unique<JsonLines>(out);
}

}  // namespace

int Run(const DumpArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(args.store_dir, &view); !s.ok()) return Fail(s);
  const std::vector<std::string> names =
      args.queue ? std::vector<std::string>{*args.queue} : view->QueueNames();

  Output out;
  const std::unique_ptr<RowWriter> writer = MakeWriter(args.format, &out);
  int code = kExitOk;
  bool open = true;
  for (const std::string& name : names) {
    wq::Status s = view->ForEachEntry(name, [&](const wq::Entry& entry) {
      open = writer->Row(name, entry) && !Interrupted();
      return open;
    });
    if (!s.ok()) code = Fail(s);
    if (!s.ok() || !open) break;
  }
  writer->End(code == kExitOk && open);
  return out.Finish(code);
}

}  // namespace wqctl
