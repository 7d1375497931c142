package e2e

// This file has the cluster: one member of etcd and one kube-apiserver, of this module's tools.

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const token = "e2e"

// cluster is what its clients need to know.
type cluster struct {
	Host string // Of the API server.
	Etcd string // "host:port"
}

// config returns one of an administrator whose calls are not limited.
func (c cluster) config() *rest.Config {
	return &rest.Config{Host: c.Host, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func (c cluster) client() (client.Client, error) {
	return client.New(c.config(), client.Options{Scheme: scheme})
}

// startCluster starts the servers, which end with the test, and defines the widgets.
func startCluster(t *testing.T) cluster {
	t.Helper()
	dir := t.TempDir()
	c := cluster{Etcd: freeAddress(t), Host: "https://" + freeAddress(t)}
	peer := "http://" + freeAddress(t)
	startServer(t, dir, "server", "--data-dir", filepath.Join(dir, "etcd"),
		"--listen-client-urls", "http://"+c.Etcd, "--advertise-client-urls", "http://"+c.Etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default="+peer)

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, text, 0o600))
		return path
	}
	accounts := write("accounts.pem", pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	_, port, err := net.SplitHostPort(c.Host[len("https://"):])
	must(t, err)
	startServer(t, dir, "kube-apiserver", "--etcd-servers", "http://"+c.Etcd,
		"--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", filepath.Join(dir, "certs"),
		"--token-auth-file", write("tokens", []byte(token+",admin,1,system:masters\n")),
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", accounts, "--service-account-signing-key-file", accounts)
	var api client.Client
	eventually(t, "the API server works", func() bool {
		api, err = c.client()
		return err == nil && api.Create(t.Context(), widgetDefinition()) == nil
	})
	eventually(t, "there are widgets", func() bool {
		return api.List(t.Context(), &widgetList{}, client.InNamespace(namespace)) == nil &&
			api.Get(t.Context(), client.ObjectKey{Name: namespace}, &unstructured.Unstructured{
				Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}) == nil
	})
	return c
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// startServer starts a program of WQ_E2E_PROGRAMS, whose output is shown if the test fails.
func startServer(t *testing.T, dir, program string, arguments ...string) {
	t.Helper()
	path := filepath.Join(dir, program+".log")
	start(t, path, exec.Command(filepath.Join(os.Getenv("WQ_E2E_PROGRAMS"), program), arguments...))
}

// start starts a process, which is killed when the test ends.
func start(t *testing.T, log string, command *exec.Cmd) {
	t.Helper()
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer output.Close()
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, command.Start())
	t.Cleanup(func() {
		kill(command)
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", log, text[max(0, len(text)-8192):])
		}
	})
}

// kill kills a process and waits for its end. Idempotent.
func kill(command *exec.Cmd) {
	_ = command.Process.Kill()
	_ = command.Wait()
}

func widgetDefinition() client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group.Group},
		"spec": map[string]any{
			"group": group.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget",
				"listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": group.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
					"properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": map[string]any{
							"number": map[string]any{"type": "integer"},
							"kind":   map[string]any{"type": "string"},
							"secret": map[string]any{"type": "string"}}},
						"status": map[string]any{"type": "object", "properties": map[string]any{
							"generation": map[string]any{"type": "integer"}}}}},
				}}}}}}
}

// patience bounds the wait for what must happen.
const patience = 20 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen: " + what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// inParallel calls the function for each number from 0 to count.
func inParallel(t testing.TB, count int, call func(ctx context.Context, n int) error) {
	t.Helper()
	const workers = 16
	next, failures := make(chan int), make(chan error, workers)
	for range workers {
		go func() {
			var first error
			for n := range next {
				if err := call(t.Context(), n); err != nil && first == nil {
					first = fmt.Errorf("number %d: %w", n, err)
				}
			}
			failures <- first
		}()
	}
	for n := range count {
		next <- n
	}
	close(next)
	for range workers {
		must(t, <-failures)
	}
}
