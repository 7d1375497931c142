// calls DIR: makes every call of the C interface from C99. DIR is a store that does not exist. Ends
// with the line of the first expectation that fails.

#define _POSIX_C_SOURCE 200809L

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <wq/wq.h>

#include "tests/c/expect.h"

wq_error error;

static int is(const wq_bytes* bytes, const char* text) {
  return bytes->size == strlen(text) && memcmp(bytes->data, text, bytes->size) == 0;
}

static wq_code add(wq_queue queue, const char* key) {
  return wq_queue_add(queue, key, strlen(key), NULL, NULL, &error);
}
static wq_code done(wq_queue queue, const char* key) {
  return wq_queue_done(queue, key, strlen(key), &error);
}

// Appends the bytes to the text, behind a space.
static void note(char* text, const char* bytes, size_t size) {
  size_t length = strlen(text);
  if (length > 0) {
    text[length++] = ' ';
  }
  if (size > 0) {
    memcpy(text + length, bytes, size);
  }
  text[length + size] = '\0';
}

static void a_key_lives(wq_queue queue) {
  wq_bytes key = WQ_NO_BYTES;
  const char with_nul[] = {'a', '\0', 'b'};
  int32_t outcome = -1;
  int32_t again = -1;
  size_t len = 0;
  OK(wq_queue_add(queue, with_nul, sizeof with_nul, NULL, &outcome, &error));
  EXPECT(outcome == WQ_ADDED);
  OK(wq_queue_add(queue, with_nul, sizeof with_nul, NULL, &outcome, &error));
  EXPECT(outcome == WQ_DEDUPLICATED);
  OK(wq_queue_len(queue, &len, &error));
  EXPECT(len == 1);
  OK(wq_queue_get(queue, WQ_FOREVER, &key, &error));
  EXPECT(key.size == 3 && memcmp(key.data, with_nul, 3) == 0 && key.data[3] == '\0');
  OK(wq_queue_added_again(queue, key.data, key.size, &again, &error));
  EXPECT(again == 0);
  OK(wq_queue_add(queue, key.data, key.size, NULL, NULL, NULL));
  OK(wq_queue_added_again(queue, key.data, key.size, &again, &error));
  EXPECT(again == 1);
  OK(wq_queue_remove(queue, key.data, key.size, &error));
  OK(wq_queue_done(queue, key.data, key.size, &error));
  EXPECT(wq_queue_done(queue, key.data, key.size, &error) == WQ_NOT_PROCESSING);
  EXPECT(error.code == WQ_NOT_PROCESSING);
  EXPECT(strcmp(error.message, "no worker holds key 'a\\x00b'") == 0);
  EXPECT(wq_queue_get(queue, 1000, &key, &error) == WQ_TIMED_OUT);
  EXPECT(key.size == 3);  // Unchanged.
  wq_bytes_free(&key);
  EXPECT(key.data == NULL && key.capacity == 0);
}

static void delays_and_failures(wq_queue queue) {
  wq_bytes key = WQ_NO_BYTES;
  uint64_t requeues = 0;
  wq_add_options soon = {.size = sizeof soon, .has_retry_delay = 1, .retry_delay_us = 1};
  OK(wq_queue_add_after(queue, "late", 4, INT64_C(3600000000), NULL, NULL, &error));
  OK(wq_queue_cancel_delay(queue, "late", 4, &error));
  EXPECT(wq_queue_end_delay(queue, "late", 4, &error) == WQ_NOT_FOUND);

  OK(wq_queue_add_after(queue, "late", 4, INT64_C(3600000000), NULL, NULL, &error));
  OK(wq_queue_delete(queue, "late", 4, &error));
  EXPECT(wq_queue_delete(queue, "late", 4, &error) == WQ_NOT_FOUND);

  OK(wq_queue_add_rate_limited(queue, "f", 1, "it broke", 8, &soon, NULL, &error));
  OK(wq_queue_get(queue, WQ_FOREVER, &key, &error));
  EXPECT(is(&key, "f"));
  OK(wq_queue_num_requeues(queue, "f", 1, &requeues, &error));
  EXPECT(requeues == 1);
  OK(wq_queue_forget(queue, "f", 1, &error));
  OK(wq_queue_num_requeues(queue, "f", 1, &requeues, &error));
  EXPECT(requeues == 0);
  OK(done(queue, "f"));
  wq_bytes_free(&key);
}

// Copies "REASON TRACE;" of each cause.
static int32_t join_cause(void* arg, const char* reason, const char* trace_parent) {
  char* const text = arg;
  strcat(strcat(strcat(strcat(text, reason), " "), trace_parent), ";");
  return 1;
}

static void causes(wq_queue queue) {
  static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  wq_add_options why = {.size = sizeof why,
                        .reason = "changed",
                        .reason_size = 7,
                        .trace_parent = trace,
                        .trace_parent_size = strlen(trace)};
  wq_error error;
  char text[200] = "";
  uint64_t left_out = 1;
  wq_bytes key = WQ_NO_BYTES;
  OK(wq_queue_add(queue, "why", 3, &why, NULL, &error));
  why.trace_parent = NULL;
  why.reason = "owner";
  why.reason_size = 5;
  OK(wq_queue_add(queue, "why", 3, &why, NULL, &error));
  OK(wq_queue_causes(queue, "why", 3, join_cause, text, &left_out, &error));
  EXPECT(strcmp(text, "changed 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01;owner ;") ==
         0);
  EXPECT(left_out == 0);
  why.reason = "a\nb";
  why.reason_size = 3;
  EXPECT(wq_queue_add(queue, "why", 3, &why, NULL, &error) == WQ_INVALID_ARGUMENT);
  OK(wq_queue_get(queue, WQ_FOREVER, &key, &error));
  OK(done(queue, "why"));
  EXPECT(wq_queue_causes(queue, "why", 3, join_cause, text, NULL, &error) == WQ_NOT_FOUND);
  wq_bytes_free(&key);
}

static void batches(wq_queue queue) {
  wq_bytes list = WQ_NO_BYTES;
  wq_bytes got = WQ_NO_BYTES;
  wq_refused refused[1];
  wq_batch_result result = {.size = sizeof result, .refused_keys = refused, .refused_capacity = 1};
  size_t count = 0;
  size_t offset = 0;
  const char* key = NULL;
  size_t size = 0;
  OK(wq_keys_append(&list, "one", 3, &error));
  OK(wq_keys_append(&list, "", 0, &error));
  OK(wq_keys_append(&list, "two", 3, &error));
  OK(wq_keys_append(&list, "one", 3, &error));
  OK(wq_queue_add_batch(queue, list.data, list.size, NULL, &result, &error));
  EXPECT(result.added == 2 && result.deduplicated == 1 && result.held == 0);
  EXPECT(result.refused == 1 && refused[0].index == 1 && refused[0].code == WQ_INVALID_ARGUMENT);

  OK(wq_queue_get_batch(queue, 10, 0, &got, NULL, &count, &error));
  EXPECT(count == 2);
  OK(wq_keys_next(got.data, got.size, &offset, &key, &size, &error));
  EXPECT(size == 3 && memcmp(key, "one", 3) == 0);
  OK(wq_keys_next(got.data, got.size, &offset, &key, &size, &error));
  EXPECT(size == 3 && memcmp(key, "two", 3) == 0);
  EXPECT(wq_keys_next(got.data, got.size, &offset, &key, &size, &error) == WQ_NOT_FOUND);
  OK(wq_queue_done_batch(queue, got.data, got.size, &count, &error));
  EXPECT(count == 0);
  EXPECT(wq_queue_done_batch(queue, got.data, got.size, &count, &error) == WQ_NOT_PROCESSING);
  EXPECT(count == 2);
  wq_bytes_free(&list);
  wq_bytes_free(&got);
}

static void priorities(wq_store store) {
  const wq_queue_options options = {.size = sizeof options,
                                    .order = WQ_ORDER_PRIORITIES,
                                    .re_add = WQ_RE_ADD_RAISES_LANE,
                                    .merge_delays = 1};
  const wq_add_options low = {.size = sizeof low, .has_lane = 1, .lane = 2};
  const wq_add_options high = {.size = sizeof high, .has_lane = 1, .lane = 10};
  const wq_add_options bounded = {.size = sizeof bounded,
                                  .has_lane = 1,
                                  .lane = -3,
                                  .has_retry_delay = 1,
                                  .retry_delay_us = INT64_C(3600000000),
                                  .has_max_delay = 1,
                                  .max_delay_us = 0};
  wq_queue queue = WQ_NO_QUEUE;
  wq_bytes got = WQ_NO_BYTES;
  int32_t lanes[2] = {0};
  int32_t outcome = -1;
  size_t count = 0;
  OK(wq_store_open_queue(store, "priorities", &options, &queue, &error));
  OK(wq_queue_add_rate_limited(queue, "b", 1, NULL, 0, &bounded, NULL, &error));
  OK(wq_queue_add(queue, "a", 1, &low, NULL, &error));
  OK(wq_queue_add_after(queue, "a", 1, INT64_C(3600000000), &high, &outcome, &error));
  EXPECT(outcome == WQ_DEDUPLICATED);
  OK(wq_queue_get_batch(queue, 2, 0, &got, lanes, &count, &error));
  EXPECT(count == 2 && lanes[0] == 10 && lanes[1] == -3);
  EXPECT(got.size == 10 && got.data[4] == 'a' && got.data[9] == 'b');
  OK(wq_queue_done_batch(queue, got.data, got.size, NULL, &error));
  EXPECT(wq_queue_get_batch(queue, 2, 0, &got, lanes, &count, &error) == WQ_TIMED_OUT);
  wq_bytes_free(&got);
}

static int32_t note_quarantined(void* text, const wq_quarantined_key* key) {
  EXPECT(key->quarantined_at_us > 0);
  note(text, key->key, key->key_size);
  note(text, key->last_error, key->last_error_size);
  return 1;
}
static int32_t note_cursor(void* text, const char* name, const char* value, size_t value_size) {
  note(text, name, strlen(name));
  note(text, value, value_size);
  return 1;
}

static void quarantine_and_cursors(wq_queue queue) {
  int32_t quarantined = -1;
  wq_bytes value = WQ_NO_BYTES;
  char text[200] = "";
  OK(wq_queue_quarantine(queue, "bad", 3, "poison", 6, &error));
  OK(wq_queue_quarantine(queue, "worse", 5, NULL, 0, &error));
  OK(wq_queue_quarantined(queue, note_quarantined, text, &error));
  EXPECT(strcmp(text, "bad poison worse ") == 0);
  OK(wq_queue_is_quarantined(queue, "bad", 3, &quarantined, &error));
  EXPECT(quarantined == 1);
  OK(wq_queue_drop(queue, "bad", 3, &error));
  OK(wq_queue_release(queue, "worse", 5, &error));
  OK(wq_queue_remove(queue, "worse", 5, &error));
  OK(wq_queue_quarantine(queue, "worse", 5, NULL, 0, &error));
  OK(wq_queue_release_after(queue, "worse", 5, 3600000000, &error));
  OK(wq_queue_cancel_delay(queue, "worse", 5, &error));
  EXPECT(wq_queue_release_after(queue, "worse", 5, 0, &error) == WQ_NOT_FOUND);

  text[0] = '\0';
  OK(wq_queue_set_cursor(queue, "version", "42", 2, &error));
  OK(wq_queue_get_cursor(queue, "version", &value, &error));
  EXPECT(is(&value, "42"));
  OK(wq_queue_cursors(queue, note_cursor, text, &error));
  EXPECT(strcmp(text, "version 42") == 0);
  OK(wq_queue_erase_cursor(queue, "version", &error));
  EXPECT(wq_queue_get_cursor(queue, "version", &value, &error) == WQ_NOT_FOUND);
  wq_bytes_free(&value);
}

static int32_t note_source(void* text, const wq_source_info* source) {
  char shown[80];
  snprintf(shown, sizeof shown, "%s:%u-%u/%u/%u", source->name, (unsigned)source->objects,
           (unsigned)source->unchanged, (unsigned)source->changed, (unsigned)source->deleted);
  note(text, shown, strlen(shown));
  return 1;
}

// Lists the object pod-1 at the version.
static void list_one(wq_source pods, const char* version, wq_observe_result* did) {
  const wq_list_options all = {.size = sizeof all,
                               .scope = "web",
                               .scope_size = 3,
                               .fingerprint = "1",
                               .fingerprint_size = 1};
  wq_observation seen = {.size = sizeof seen,
                         .object = "pod-1",
                         .object_size = 5,
                         .version = version,
                         .version_size = strlen(version),
                         .tombstone = "labels",
                         .tombstone_size = 6};
  wq_source list = WQ_NO_SOURCE;
  wq_bytes keys = WQ_NO_BYTES;
  did->size = sizeof *did;
  OK(wq_keys_append(&keys, "owner", 5, &error));
  seen.keys = keys.data;
  seen.keys_size = keys.size;
  OK(wq_source_begin_list(pods, &all, &list, &error));
  OK(wq_source_observe(list, &seen, NULL, did, &error));
  OK(wq_source_end_list(list, NULL, &error));
  OK(wq_source_free(list, &error));
  EXPECT(wq_source_free(list, &error) == WQ_BAD_HANDLE);
  wq_bytes_free(&keys);
}

static void sources(wq_queue queue) {
  const wq_list_options all = {.size = sizeof all,
                               .scope = "web",
                               .scope_size = 3,
                               .fingerprint = "1",
                               .fingerprint_size = 1};
  wq_source pods = WQ_NO_SOURCE;
  wq_source list = WQ_NO_SOURCE;
  wq_bytes row = WQ_NO_BYTES;
  wq_observe_result did;
  wq_observation gone = {.size = sizeof gone, .object = "pod-1", .object_size = 5, .deleted = 1};
  char text[200] = "";
  OK(wq_queue_open_source(queue, "pods", &pods, &error));
  list_one(pods, "7", &did);
  EXPECT(did.changed == 1 && did.added == 1);
  OK(wq_queue_remove(queue, "owner", 5, &error));
  list_one(pods, "7", &did);
  EXPECT(did.changed == 0 && did.added == 0);
  OK(wq_source_begin_list(pods, &all, &list, &error));
  OK(wq_source_next_deleted(list, &row, &error));
  EXPECT(row.size == 4 + 5 + 4 + 1 + 4 + 6 + 4 + 5);
  EXPECT(memcmp(row.data, "\5\0\0\0pod-1\1\0\0\0007\6\0\0\0labels\5\0\0\0owner", row.size) == 0);
  EXPECT(wq_source_next_deleted(list, &row, &error) == WQ_NOT_FOUND);
  OK(wq_source_observe(list, &gone, NULL, &did, &error));
  EXPECT(did.changed == 1 && did.added == 1);
  OK(wq_source_observe(list, &gone, NULL, &did, &error));
  EXPECT(did.changed == 0);
  OK(wq_source_end_list(list, NULL, &error));
  EXPECT(wq_source_end_list(list, NULL, &error) == WQ_INVALID_ARGUMENT);
  OK(wq_queue_sources(queue, note_source, text, &error));
  EXPECT(strcmp(text, "pods:0-1/1/1") == 0);
  OK(wq_queue_remove(queue, "owner", 5, &error));
  OK(wq_queue_remove_source(queue, "pods", &error));
  EXPECT(wq_source_observe(pods, &gone, NULL, &did, &error) == WQ_NOT_FOUND);
  OK(wq_source_free(pods, &error));
  wq_bytes_free(&row);
}

static int32_t note_queued(void* text, const wq_queued_key* key) {
  note(text, key->key, key->key_size);
  return 1;
}

static void lanes_and_readings(wq_queue queue) {
  wq_add_options slow = {.size = sizeof slow, .has_lane = 1, .lane = WQ_SLOW_LANE};
  wq_counts counts = {.size = sizeof counts};
  char text[200] = "";
  size_t position = 0;
  OK(wq_queue_add(queue, "slow", 4, &slow, NULL, &error));
  OK(add(queue, "fast"));
  OK(wq_queue_list(queue, 10, note_queued, text, &error));
  EXPECT(strcmp(text, "fast slow") == 0);
  OK(wq_queue_position_of(queue, "slow", 4, &position, &error));
  EXPECT(position == 1);
  OK(wq_queue_pause(queue, 0, &error));
  OK(wq_queue_counts(queue, &counts, &error));
  EXPECT(counts.queued == 2 && counts.paused == 1 && counts.size == sizeof counts);
  EXPECT(counts.adds > 2 && counts.dones > 2 && counts.failures == 1);
  OK(wq_queue_resume(queue, &error));
  OK(wq_queue_remove(queue, "slow", 4, &error));
  OK(wq_queue_remove(queue, "fast", 4, &error));
  OK(wq_queue_flush(queue, WQ_PROCESS, &error));
}

static void readiness(wq_queue queue) {
  wq_bytes key = WQ_NO_BYTES;
  int fd = -1;
  struct pollfd readable = {.events = POLLIN};
  OK(wq_queue_ready_fd(queue, &fd, &error));
  EXPECT(wq_queue_get(queue, 0, &key, &error) == WQ_TIMED_OUT);
  OK(add(queue, "r"));
  readable.fd = fd;
  EXPECT(poll(&readable, 1, 0) == 1);
  OK(wq_queue_get(queue, 0, &key, &error));
  OK(done(queue, "r"));
  wq_bytes_free(&key);
  close(fd);
}

static void shards(wq_store store) {
  wq_queue_options options = {.size = sizeof options, .shards = 3};
  wq_queue queue = WQ_NO_QUEUE;
  wq_worker worker = WQ_NO_WORKER;
  wq_bytes key = WQ_NO_BYTES;
  uint32_t own[2] = {9, 9};
  int32_t lanes[5] = {-1};
  size_t count = 0;
  OK(wq_store_open_queue(store, "sharded", &options, &queue, &error));
  EXPECT(wq_queue_get(queue, 0, &key, &error) == WQ_INVALID_ARGUMENT);
  OK(wq_queue_join(queue, &worker, &error));
  OK(wq_worker_shards(worker, own, 2, &count, &error));
  EXPECT(count == 3 && own[0] == 0 && own[1] == 1);
  OK(add(queue, "k"));
  OK(wq_worker_get(worker, 0, &key, &error));
  OK(done(queue, "k"));
  OK(add(queue, "l"));
  OK(wq_worker_get_batch(worker, 5, 0, &key, lanes, &count, &error));
  EXPECT(count == 1 && lanes[0] == WQ_FAST_LANE);
  OK(wq_queue_done_batch(queue, key.data, key.size, NULL, &error));
  OK(wq_worker_leave(worker, &error));
  EXPECT(wq_worker_leave(worker, &error) == WQ_BAD_HANDLE);
  wq_bytes_free(&key);
}

static void closing(wq_store store) {
  wq_queue queue = WQ_NO_QUEUE;
  wq_queue again = WQ_NO_QUEUE;
  OK(wq_store_open_queue(store, "closing", NULL, &queue, &error));
  OK(wq_queue_close(queue, &error));
  OK(wq_queue_close(queue, &error));
  EXPECT(add(queue, "x") == WQ_SHUTTING_DOWN);
  OK(wq_store_open_queue(store, "closing", NULL, &again, &error));
  OK(wq_queue_close(queue, &error));  // Not the queue that is open now.
  OK(add(again, "x"));
  OK(wq_queue_close(again, &error));
}

static void shutting_down(wq_store store, wq_queue queue) {
  int32_t shutting = -1;
  OK(wq_queue_is_shutting_down(queue, &shutting, &error));
  EXPECT(shutting == 0);
  EXPECT(wq_queue_shut_down_with_drain(queue, 0, &error) == WQ_TIMED_OUT);
  OK(wq_queue_shut_down(queue, &error));
  OK(wq_queue_is_shutting_down(queue, &shutting, &error));
  EXPECT(shutting == 1 && add(queue, "x") == WQ_SHUTTING_DOWN);
  OK(wq_queue_stop(queue, &error));
  OK(wq_store_close(store, &error));
  OK(wq_store_close(store, &error));
  EXPECT(add(queue, "x") == WQ_SHUTTING_DOWN);
  OK(wq_store_free(store, &error));
  EXPECT(wq_store_free(store, &error) == WQ_BAD_HANDLE);
  EXPECT(add(queue, "x") == WQ_BAD_HANDLE);
}

int main(int argc, char** argv) {
  wq_store_options options = {.size = sizeof options, .create_if_missing = 1};
  wq_queue_options pods = {.size = sizeof pods, .order = WQ_ORDER_TWO_LANES};
  wq_store store = WQ_NO_STORE;
  wq_queue queue = WQ_NO_QUEUE;
  wq_bytes bytes = WQ_NO_BYTES;
  if (argc != 2) {
    fprintf(stderr, "usage: calls DIR\n");
    return 2;
  }
  EXPECT(strcmp(wq_version(), WQ_EXPECTED_VERSION) == 0);
  EXPECT(strcmp(wq_code_name(WQ_CORRUPTION), "Corruption") == 0);
  EXPECT(wq_store_open(argv[1], NULL, &store, &error) == WQ_NOT_FOUND && store.handle == 0);
  OK(wq_store_open(argv[1], &options, &store, &error));
  OK(wq_store_dir(store, &bytes, &error));
  EXPECT(is(&bytes, argv[1]));
  OK(wq_store_uuid(store, &bytes, &error));
  EXPECT(bytes.size == 36);
  OK(wq_store_open_queue(store, "pods", &pods, &queue, &error));
  a_key_lives(queue);
  delays_and_failures(queue);
  causes(queue);
  batches(queue);
  quarantine_and_cursors(queue);
  sources(queue);
  lanes_and_readings(queue);
  readiness(queue);
  shards(store);
  closing(store);
  EXPECT(wq_store_delete_queue(store, "pods", &error) == WQ_LOCKED);
  EXPECT(wq_store_delete_queue(store, "none", &error) == WQ_NOT_FOUND);
  EXPECT(wq_store_clock_changed(store, &error) == WQ_INVALID_ARGUMENT);
  OK(wq_store_queue_names(store, &bytes, &error));
  EXPECT(bytes.size == 4 + 4 + 4 + 7 + 4 + 7);
  OK(add(queue, "seen"));
  OK(wq_queue_add_rate_limited(queue, "failed", 6, NULL, 0, NULL, NULL, &error));
  OK(wq_queue_add_after(queue, "later", 5, INT64_C(3600000000), NULL, NULL, &error));
  OK(wq_queue_cancel_delay(queue, "failed", 6, &error));
  OK(wq_store_flush(store, WQ_DEFAULT_DURABILITY, &error));
  OK(wq_store_health(store, &error));
  OK(wq_store_process_log_status(store, &error));
  OK(wq_store_recover(store, &error));
  priorities(store);
  shutting_down(store, queue);
  metrics_and_limiters();
  clocks();
  wq_bytes_free(&bytes);
  return 0;
}
