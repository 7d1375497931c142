#include <iostream>
#include "wq/queue.h"
#include "wq/store.h"

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* pods = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "pods.wq", &store);
  if (s.ok()) s = store->OpenQueue("pods", {}, &pods);
  if (s.ok()) s = pods->Add("default/pod-1");  // When it returns, the key survives kill -9.
  std::string key;
  while (s.ok() && pods->Len() > 0 && (s = pods->Get(&key)).ok()) {
    std::cout << "reconciling " << key << "\n";
    s = pods->Done(key);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}
