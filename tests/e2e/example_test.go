package e2e

// This file has the test of examples/kubernetes.

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
"contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
"clusters": [{"name": "e2e", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}],
"users": [{"name": "e2e", "user": {"token": %q}}]}`

func TestTheExampleCopiesSecrets(t *testing.T) {
	c := startCluster(t)
	api, err := c.client()
	must(t, err)
	must(t, api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}))
	dir := t.TempDir()
	config, store := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "store")
	must(t, os.WriteFile(config, fmt.Appendf(nil, kubeconfig, c.Host, token), 0o600))
	run := func(log string) *exec.Cmd {
		command := exec.Command(filepath.Join(os.Getenv("WQ_E2E_PROGRAMS"), "kubernetes"),
			"--kubeconfig", config, "--store", store, "--metrics", "0")
		start(t, log, command)
		return command
	}
	copied := func(name string) string { // What the copy has; "": there is none.
		var s corev1.Secret
		if api.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: name}, &s) != nil {
			return ""
		}
		return string(s.Data["text"])
	}
	secret := func(name, text string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Annotations: map[string]string{"copies.example.org/to": "web"}},
			Data: map[string][]byte{"text": []byte(text)}}
	}
	changed := secret("changed", "1")
	for _, s := range []*corev1.Secret{secret("same", "1"), secret("gone", "1"), changed} {
		must(t, api.Create(t.Context(), s))
	}
	first := run(filepath.Join(dir, "first"))
	eventually(t, "all are copied", func() bool {
		return copied("same") == "1" && copied("gone") == "1" && copied("changed") == "1"
	})
	eventually(t, "the copies were seen, too, and nothing is left to do", func() bool {
		return copiesAreSeen(store, 6)
	})
	kill(first)
	must(t, api.Delete(t.Context(), secret("gone", "")))
	changed.Data["text"] = []byte("2")
	must(t, api.Update(t.Context(), changed))
	second := filepath.Join(dir, "second")
	run(second)
	eventually(t, "what changed meanwhile is seen, and nothing is left to do", func() bool {
		return copied("gone") == "" && copied("changed") == "2" && copiesAreSeen(store, 4)
	})
	log, err := os.ReadFile(second)
	must(t, err)
	if text := string(log); strings.Contains(text, `"name"="same"`) ||
		!strings.Contains(text, `"name"="gone"`) {
		t.Fatalf("%s", log)
	}
}

// copiesAreSeen reports whether the store has seen so many Secrets, and has nothing to do.
func copiesAreSeen(store string, secrets int) bool {
	output, err := exec.Command(
		os.Getenv("WQ_E2E_WQCTL"), "--store", store, "inspect", "-q", "copies", "-o", "jsonl").Output()
	var queue struct {
		Pending, Delayed int
		Sources          map[string]int
	}
	return err == nil && json.Unmarshal(output, &queue) == nil &&
		queue.Pending+queue.Delayed == 0 && queue.Sources["secrets"] == secrets
}
