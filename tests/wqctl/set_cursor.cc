// set_cursor STORE QUEUE NAME VALUE: sets a cursor as a source does, since wqctl only reads
// cursors. For the tests of wqctl cursor.
#include <cstdio>
#include <memory>

#include "wq/queue.h"
#include "wq/store.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
  wq::Status s = wq::Store::Open({}, argv[1], &store);
  if (s.ok()) s = store->OpenQueue(argv[2], {.order = wq::Order::kPriorities}, &queue);
  if (s.ok()) s = queue->SetCursor(argv[3], argv[4]);
  if (s.ok()) s = store->Close();
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
