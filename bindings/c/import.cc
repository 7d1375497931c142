// The C interface: importers.

#include "wq/import.h"

#include <memory>
#include <utility>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/entry.h"
#include "bindings/c/boundary/fork.h"
#include "bindings/c/boundary/limits.h"
#include "bindings/c/boundary/turn.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::NullArgument;

struct Import {
  explicit Import(std::unique_ptr<wq::Importer> opened) : importer(std::move(opened)) {}

  // Calls `body(importer)`, unless the import is over. A failure ends the import.
  template <typename Body>
  Status Call(const Body& body) {
    if (over) {
      return Status::ShuttingDown("the import is over");
    }
    Status status = body(*importer);
    over = !status.ok();
    return status;
  }

  const std::unique_ptr<wq::Importer> importer;
  bool over = false;  // It failed, or is finished.
};
using ImporterObject = wq::c::InTurn<wq::c::Kind::kImporter, Import>;

}  // namespace

extern "C" {

wq_code wq_importer_open(const char* dir, const wq_import_options* options, wq_importer* importer,
                         wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr || importer == nullptr) {
      return NullArgument("dir or importer");
    }
    *importer = WQ_NO_IMPORTER;
    wq_import_options own;
    if (Status s = wq::c::ReadSized("options", options, &own); !s.ok()) {
      return s;
    }
    wq::c::WatchForks();
    std::unique_ptr<wq::Importer> opened;
    const wq::ImportOptions import_options{.create_if_missing = own.must_exist == 0,
                                           .replace = own.replace != 0,
                                           .dry_run = own.dry_run != 0};
    if (Status s = wq::Importer::Open(import_options, dir, &opened); !s.ok()) {
      return s;
    }
    auto object = std::make_unique<ImporterObject>(std::move(opened));
    importer->handle = wq::c::Register(object);
    return {};
  });
}

wq_code wq_importer_set_queue(wq_importer importer, const wq_queue_info* info, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](Import& i) {
    wq::QueueInfo own;
    Status s = wq::c::ToQueueInfo(info, &own);
    return s.ok() ? i.Call([&](wq::Importer& to) { return to.SetQueue(own); }) : s;
  });
}

wq_code wq_importer_set_cursor(wq_importer importer, const char* queue, const char* name,
                               const char* value, size_t value_size, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](Import& i) {
    if (queue == nullptr || name == nullptr) {
      return NullArgument("queue or name");
    }
    if (Status s = wq::c::CheckInput("value", value, value_size); !s.ok()) {
      return s;
    }
    return i.Call([&](wq::Importer& to) { return to.SetCursor(queue, name, {value, value_size}); });
  });
}

wq_code wq_importer_set_limits(wq_importer importer, const char* queue, const char* group,
                               size_t group_size, const wq_group_limits* limits, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](Import& i) {
    if (queue == nullptr || limits == nullptr) {
      return NullArgument("queue or limits");
    }
    if (Status s = wq::c::CheckInput("group", group, group_size); !s.ok()) {
      return s;
    }
    wq::GroupLimits own;
    if (Status s = wq::c::ToLimits("limits", limits, &own); !s.ok()) {
      return s;
    }
    return i.Call([&](wq::Importer& to) { return to.SetLimits(queue, {group, group_size}, own); });
  });
}

wq_code wq_importer_add(wq_importer importer, const char* queue, const wq_entry* entry,
                        wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](Import& i) {
    if (queue == nullptr) {
      return NullArgument("queue");
    }
    wq::Entry own;
    Status s = wq::c::ToEntry(entry, &own);
    return s.ok() ? i.Call([&](wq::Importer& to) { return to.Add(queue, own); }) : s;
  });
}

wq_code wq_importer_finish(wq_importer importer, wq_import_counts* counts, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](Import& i) {
    if (Status s = counts == nullptr ? Status::Ok() : wq::c::CheckSized("counts", counts);
        !s.ok()) {
      return s;
    }
    if (Status s = i.Call([](wq::Importer& to) { return to.Finish(); }); !s.ok()) {
      return s;
    }
    i.over = true;
    if (counts != nullptr) {
      const wq::ImportCounts& done = i.importer->counts();
      const wq_import_counts out{.size = 0,
                                 .queues = done.queues,
                                 .entries = done.entries,
                                 .cursors = done.cursors,
                                 .limits = done.limits};
      wq::c::WriteSized(out, counts);
    }
    return Status::Ok();
  });
}

wq_code wq_importer_free(wq_importer importer, wq_error* error) {
  return wq::c::FreeInTurn<ImporterObject>("wq_importer_free", importer.handle, error);
}

}  // extern "C"
