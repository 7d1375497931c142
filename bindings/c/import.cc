// The C interface: importers.

#include "wq/import.h"

#include <string>

#include "bindings/c/border/border.h"
#include "bindings/c/border/entry.h"
#include "bindings/c/border/fork.h"
#include "bindings/c/border/one_at_a_time.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::ImporterObject;
using wq::c::NullArgument;

// `body(importer)`, unless the import is over; it is over then if that fails.
template <typename Body>
Status Import(ImporterObject* object, const Body& body) {
  if (object->over) {
    return Status::ShuttingDown("the import is over");
  }
  Status status = body(*object->importer);
  object->over = !status.ok();
  return status;
}

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
    auto object = std::make_unique<ImporterObject>();
    wq::c::WatchForks();
    const wq::ImportOptions import_options{.create_if_missing = own.must_exist == 0,
                                           .replace = own.replace != 0,
                                           .dry_run = own.dry_run != 0};
    if (Status s = wq::Importer::Open(import_options, dir, &object->importer); !s.ok()) {
      return s;
    }
    importer->handle = wq::c::InsertAlone(std::move(object));
    return {};
  });
}

wq_code wq_importer_set_queue(wq_importer importer, const wq_queue_info* info, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](ImporterObject& o) {
    wq::QueueInfo own;
    Status s = wq::c::ToQueueInfo(info, &own);
    return s.ok() ? Import(&o, [&](wq::Importer& i) { return i.SetQueue(own); }) : s;
  });
}

wq_code wq_importer_set_cursor(wq_importer importer, const char* queue, const char* name,
                               const char* value, size_t value_size, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](ImporterObject& o) {
    if (queue == nullptr || name == nullptr) {
      return NullArgument("queue or name");
    }
    Status s = wq::c::CheckInput("value", value, value_size);
    return s.ok() ? Import(&o,
                           [&](wq::Importer& i) {
                             return i.SetCursor(queue, name, {value, value_size});
                           })
                  : s;
  });
}

wq_code wq_importer_add(wq_importer importer, const char* queue, const wq_entry* entry,
                        wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](ImporterObject& o) {
    if (queue == nullptr) {
      return NullArgument("queue");
    }
    wq::Entry own;
    Status s = wq::c::ToEntry(entry, &own);
    return s.ok() ? Import(&o, [&](wq::Importer& i) { return i.Add(queue, own); }) : s;
  });
}

wq_code wq_importer_finish(wq_importer importer, wq_import_counts* counts, wq_error* error) {
  return wq::c::CallInTurn<ImporterObject>(importer.handle, error, [&](ImporterObject& o) {
    if (Status s = counts == nullptr ? Status::Ok() : wq::c::CheckSized("counts", counts);
        !s.ok()) {
      return s;
    }
    if (Status s = Import(&o, [](wq::Importer& i) { return i.Finish(); }); !s.ok()) {
      return s;
    }
    o.over = true;
    if (counts != nullptr) {
      const wq::ImportCounts& done = o.importer->counts();
      const wq_import_counts out{
          .size = 0, .queues = done.queues, .entries = done.entries, .cursors = done.cursors};
      wq::c::WriteSized(out, counts);
    }
    return Status::Ok();
  });
}

wq_code wq_importer_free(wq_importer importer, wq_error* error) {
  return wq::c::FreeAlone<ImporterObject>("wq_importer_free", importer.handle, error);
}

}  // extern "C"
