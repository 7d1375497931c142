// Part of calls: snapshots, imports, diffs, verification and repair of stores.

#include <stdio.h>
#include <string.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

static int32_t count_snapshot(void* arg, const wq_snapshot_info* info) {
  EXPECT(info->size >= sizeof *info && strlen(info->uuid) == 36 && info->bytes > 0);
  EXPECT(strcmp(info->name, "first") == 0 && strstr(info->path, "/first") != NULL);
  EXPECT(info->taken_at_us > 0 && info->linked_bytes <= info->bytes);
  ++*(int*)arg;
  return 1;
}
static int32_t say_cancelled(void* arg) {
  ++*(int*)arg;
  return 1;
}

// Creates a snapshot of `dir` in `kept`, and restores it at `restored`.
static void snapshots(const char* dir, const char* kept, const char* restored) {
  int asked = 0;
  int seen = 0;
  wq_bytes path = WQ_NO_BYTES;
  wq_snapshot_options first = {.size = sizeof first, .name = "first"};
  wq_snapshot_options never = {.size = sizeof never, .cancelled = say_cancelled, .arg = &asked};
  wq_restore_options never_restored = {
      .size = sizeof never_restored, .cancelled = say_cancelled, .arg = &asked};
  EXPECT(wq_snapshot_create(dir, kept, &never, NULL, &error) == WQ_IO_ERROR && asked > 0);
  OK(wq_snapshot_create(dir, kept, &first, &path, &error));
  EXPECT(strstr(path.data, "/first") != NULL);
  EXPECT(wq_snapshot_create(dir, kept, &first, &path, &error) == WQ_ALREADY_EXISTS);
  OK(wq_snapshot_list(kept, count_snapshot, &seen, &error));
  EXPECT(seen == 1);
  asked = 0;
  EXPECT(wq_snapshot_restore(kept, restored, &never_restored, NULL, &error) == WQ_IO_ERROR);
  EXPECT(asked > 0);
  OK(wq_snapshot_restore(kept, restored, NULL, &path, &error));
  EXPECT(strstr(path.data, "/first") != NULL);
  EXPECT(wq_snapshot_list(restored, count_snapshot, &seen, &error) == WQ_NOT_FOUND);
  wq_bytes_free(&path);
}

static void no_finding(void* arg, const char* where, const char* what) {
  fprintf(stderr, "%s: %s\n", where, what);
  EXPECT(arg == NULL && where == NULL);
}

static void verified(const char* dir) {
  wq_verify_report report = {.size = sizeof report};
  OK(wq_verify(dir, 0, &report, no_finding, NULL, &error));
  EXPECT(report.findings == 0 && report.owner_alive == 0 && report.rows > 0 && report.queues >= 1);
}

static void repaired(const char* dir, const char* into) {
  wq_repair_report report = {.size = sizeof report};
  OK(wq_repair(dir, into, &report, no_finding, NULL, &error));
  EXPECT(report.losses == 0 && report.records > 0 && report.queues >= 1);
  EXPECT(wq_repair(dir, into, &report, NULL, NULL, &error) == WQ_ALREADY_EXISTS);
  verified(into);
}

static int32_t import_entry(void* importer, const wq_entry* entry) {
  OK(wq_importer_add(*(wq_importer*)importer, "pods", entry, &error));
  return 1;
}
static void import_info(void* importer, const wq_queue_info* info) {
  OK(wq_importer_set_queue(*(wq_importer*)importer, info, &error));
}

static int32_t check_limits(void* seen, const char* group, size_t group_size,
                            const wq_group_limits* limits) {
  EXPECT(group_size == 1 && *group == 'g');
  EXPECT(limits->max_processing == 3 && limits->weight == 2 && limits->burst == 1);
  ++*(int*)seen;
  return 1;
}

// Copies the queue "pods" of `from` and two more entries to a new store at `into`.
static void imported(const char* from, const char* into) {
  wq_view view = WQ_NO_VIEW;
  wq_importer importer = WQ_NO_IMPORTER;
  wq_import_options options = {.size = sizeof options, .must_exist = 1};
  wq_import_counts counts = {.size = sizeof counts};
  wq_failures failures = {
      .size = sizeof failures, .count = 7, .last_error = "poison", .last_error_size = 6};
  wq_entry entry = {
      .size = sizeof entry, .key = "new", .key_size = 3, .group = "g", .group_size = 1};
  int seen = 0;
  const wq_group_limits limits = {.size = sizeof limits, .max_processing = 3, .weight = 2};
  EXPECT(wq_importer_open(into, &options, &importer, &error) == WQ_NOT_FOUND);
  OK(wq_importer_open(into, NULL, &importer, &error));
  OK(wq_view_open(from, &view, &error));
  OK(wq_view_queue_info(view, "pods", import_info, &importer, &error));
  OK(wq_view_entries(view, "pods", import_entry, &importer, &error));
  OK(wq_importer_add(importer, "pods", &entry, &error));
  entry.key = "bad";
  entry.state = WQ_QUARANTINED;
  entry.quarantined_at_us = 1;
  entry.failures = &failures;
  OK(wq_importer_add(importer, "pods", &entry, &error));
  OK(wq_importer_set_cursor(importer, "pods", "version", "1\0002", 3, &error));
  OK(wq_importer_set_limits(importer, "pods", "g", 1, &limits, &error));
  OK(wq_importer_finish(importer, &counts, &error));
  EXPECT(counts.queues == 1 && counts.entries == 5 && counts.cursors == 1 && counts.limits == 1);
  EXPECT(wq_importer_add(importer, "pods", &entry, &error) == WQ_SHUTTING_DOWN);
  OK(wq_importer_free(importer, &error));
  EXPECT(wq_importer_free(importer, &error) == WQ_BAD_HANDLE);
  OK(wq_view_free(view, &error));
  OK(wq_view_open(into, &view, &error));
  OK(wq_view_limits(view, "pods", check_limits, &seen, &error));
  EXPECT(seen == 1);
  EXPECT(wq_view_limits(view, "none", check_limits, &seen, &error) == WQ_NOT_FOUND);
  OK(wq_view_free(view, &error));

  // A failure ends the import and leaves nothing behind.
  options.replace = 1;
  OK(wq_importer_open(into, &options, &importer, &error));
  OK(wq_importer_set_cursor(importer, "other", "c", "", 0, &error));
  EXPECT(wq_importer_set_cursor(importer, "other", "c", "", 0, &error) == WQ_INVALID_ARGUMENT);
  EXPECT(wq_importer_finish(importer, NULL, &error) == WQ_SHUTTING_DOWN);
  OK(wq_importer_free(importer, &error));
  verified(into);
}

struct side {
  wq_diff diff;
  int32_t side;
};
static int32_t diff_entry(void* arg, const wq_entry* entry) {
  const struct side* const side = arg;
  OK(wq_diff_add(side->diff, side->side, "pods", entry, &error));
  return 1;
}
static int32_t note_diff(void* arg, const wq_key_diff* key) {
  EXPECT(strcmp(key->queue, "pods") == 0 && key->added == 1 && key->removed == 0);
  EXPECT(key->before_count == 0 && key->after_count == 1 && key->moved == 0 && key->changed == 0);
  EXPECT(key->after[0]->key_size == key->key_size && key->failed == 0);
  if (key->after[0]->state == WQ_QUARANTINED) {
    EXPECT(key->after[0]->failures->count == 7 && key->after[0]->failures->last_error_size == 6);
  } else {
    EXPECT(key->after[0]->failures == NULL && key->after[0]->group_size == 1);
  }
  strncat(arg, key->key, key->key_size);
  return 1;
}

static void compared(const char* before, const char* after) {
  const char* const dirs[2] = {before, after};
  wq_diff_options options = {.size = sizeof options, .memory_bytes = 1 << 20};
  char text[100] = "";
  struct side side = {WQ_NO_DIFF, WQ_BEFORE};
  OK(wq_diff_open(&options, &side.diff, &error));
  for (; side.side <= WQ_AFTER; ++side.side) {
    wq_view view = WQ_NO_VIEW;
    OK(wq_view_open(dirs[side.side], &view, &error));
    OK(wq_view_entries(view, "pods", diff_entry, &side, &error));
    OK(wq_view_free(view, &error));
  }
  OK(wq_diff_run(side.diff, note_diff, text, &error));
  EXPECT(strcmp(text, "badnew") == 0);
  EXPECT(wq_diff_run(side.diff, note_diff, text, &error) == WQ_INVALID_ARGUMENT);
  OK(wq_diff_free(side.diff, &error));
  EXPECT(wq_diff_free(side.diff, &error) == WQ_BAD_HANDLE);
}

void whole_stores(const char* dir) {
  char kept[300];
  char restored[300];
  char saved[300];
  char loaded[300];
  snprintf(kept, sizeof kept, "%s.kept", dir);
  snprintf(restored, sizeof restored, "%s.restored", dir);
  snprintf(saved, sizeof saved, "%s.saved", dir);
  snprintf(loaded, sizeof loaded, "%s.loaded", dir);
  verified(dir);
  snapshots(dir, kept, restored);
  verified(restored);
  repaired(restored, saved);
  imported(restored, loaded);
  compared(restored, loaded);
}
