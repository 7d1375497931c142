#include <stdio.h>
#include <wq/wq.h>

int main(void) {
  const wq_store_options create = {.size = sizeof create, .create_if_missing = 1};
  wq_store store = WQ_NO_STORE;
  wq_queue pods = WQ_NO_QUEUE;
  wq_bytes key = WQ_NO_BYTES;
  wq_error error;
  wq_code code = wq_store_open("pods.wq", &create, &store, &error);
  if (code == WQ_OK) code = wq_store_open_queue(store, "pods", NULL, &pods, &error);
  if (code == WQ_OK) code = wq_queue_add(pods, "default/pod-1", 13, NULL, NULL, &error);
  while (code == WQ_OK && (code = wq_queue_get(pods, 0, &key, &error)) == WQ_OK) {
    printf("reconciling %s\n", key.data);
    code = wq_queue_done(pods, key.data, key.size, &error);
  }
  if (code != WQ_TIMED_OUT) fprintf(stderr, "%s: %s\n", wq_code_name(code), error.message);
  wq_bytes_free(&key);
  wq_store_free(store, NULL);
  return code == WQ_TIMED_OUT ? 0 : 1;  // With a timeout of 0: nothing is left.
}
