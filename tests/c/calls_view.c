// Part of calls: views of a store that this process owns.

#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <unistd.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

static int32_t note_entry(void* text, const wq_entry* entry) {
  EXPECT((entry->failures != NULL) == (entry->state == WQ_FAILING));
  EXPECT((entry->ready_at_us > 0) == (entry->state == WQ_DELAYED));
  note(text, entry->key, entry->key_size);
  return 1;
}
static int32_t note_failing(void* text, const char* key, size_t size, const wq_failures* failures) {
  EXPECT(failures->count == 1);
  note(text, key, size);
  return 1;
}
static void note_lane_of_view(void* text, int32_t lane, uint64_t pending) {
  note_lane(text, lane, (size_t)pending);
}
static void note_oldest(void* text, const char* key, size_t size, int64_t added_at_us) {
  EXPECT(added_at_us > 0);
  note(text, key, size);
}
static void check_queue_info(void* arg, const wq_queue_info* info) {
  EXPECT(arg != NULL && info->size == sizeof *info && strcmp(info->name, "pods") == 0);
  EXPECT(info->created_at_us > 0 && info->sequence_high_water > 0 && info->paused == 0);
}

void views(const char* dir) {
  wq_view view = WQ_NO_VIEW;
  wq_bytes names = WQ_NO_BYTES;
  wq_store_info info = {.size = sizeof info};
  wq_queue_summary summary = {.size = sizeof summary};
  char text[200] = "";
  wq_summary_visitor lists = {.size = sizeof lists, .arg = text, .lane = note_lane_of_view};
  wq_bytes list = WQ_NO_BYTES;
  uint64_t at_least = 9;
  uint64_t at_most = 9;
  OK(wq_view_open(dir, &view, &error));
  OK(wq_view_info(view, &info, &error));
  EXPECT(strlen(info.uuid) == 36 && info.owner_pid == getpid() && info.owner_alive == 1 &&
         info.opened_at_us > 0 && info.wal_bytes > 0 && info.snapshot_at_us == 0);
  OK(wq_view_queue_names(view, &names, &error));
  EXPECT(names.size == 4 + 7 + 4 + 4 + 4 + 7);
  OK(wq_view_entries(view, "pods", note_entry, text, &error));
  EXPECT(strcmp(text, "seen later failed") == 0);
  OK(wq_view_find(view, "pods", "seen", 4, note_entry, text, &error));
  EXPECT(wq_view_find(view, "pods", "unseen", 6, note_entry, text, &error) == WQ_NOT_FOUND);
  text[0] = '\0';
  OK(wq_view_summarize(view, "pods", &summary, &lists, &error));
  EXPECT(summary.pending == 1 && summary.next_ready_at_us > 0 && strcmp(text, "0:1") == 0);
  EXPECT(summary.ages[0] == 1 && summary.delays[6] == 1 && summary.failure_counts[0] == 1);
  EXPECT(summary.due[5] + summary.due[6] == 1);
  lists.lane = NULL;
  lists.oldest = note_oldest;
  text[0] = '\0';
  OK(wq_view_summarize(view, "pods", &summary, &lists, &error));
  EXPECT(strcmp(text, "seen") == 0);
  text[0] = '\0';
  OK(wq_view_entries_in(view, "pods", 1U << WQ_DELAYED | 1U << WQ_PENDING, note_entry, text,
                        &error));
  EXPECT(strcmp(text, "seen later") == 0);
  EXPECT(wq_view_entries_in(view, "pods", 16, note_entry, text, &error) == WQ_INVALID_ARGUMENT);
  text[0] = '\0';
  OK(wq_keys_append(&list, "seen", 4, &error));
  OK(wq_keys_append(&list, "unseen", 6, &error));
  OK(wq_view_find_all(view, "pods", list.data, list.size, note_entry, text, &error));
  EXPECT(strcmp(text, "seen") == 0);
  OK(wq_view_position_of(view, "pods", "seen", 4, 10, &at_least, &at_most, &error));
  EXPECT(at_least == 0 && at_most == 0);
  EXPECT(wq_view_position_of(view, "pods", "later", 5, 1, &at_least, &at_most, &error) ==
         WQ_NOT_FOUND);
  OK(wq_view_queue_info(view, "pods", check_queue_info, text, &error));
  wq_bytes_free(&list);
  text[0] = '\0';
  OK(wq_view_failing(view, "pods", note_failing, text, &error));
  EXPECT(strcmp(text, "failed") == 0);
  OK(wq_view_quarantined(view, "pods", note_entry, text, &error));
  OK(wq_view_cursors(view, "pods", note_cursor, text, &error));
  EXPECT(strcmp(text, "failed") == 0);
  OK(wq_view_free(view, &error));
  EXPECT(wq_view_free(view, &error) == WQ_BAD_HANDLE);
  wq_bytes_free(&names);
}
