package main

import (
	"fmt"
	"log"

	"example.org/wq"
)

func main() {
	store, err := wq.Open("pods.wq", wq.StoreOptions{CreateIfMissing: true})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	pods := wq.NewQueue[string](store, "pods", nil)
	pods.Add("default/pod-1") // When it returns, the key survives kill -9.
	for pods.Len() > 0 {
		key, _ := pods.Get()
		fmt.Println("reconciling", key)
		pods.Done(key)
	}
	if err := pods.Err(); err != nil {
		log.Fatal(err)
	}
}
