package controllerruntime

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheFingerprintHasTheVariablesThatMayBeOptions(t *testing.T) {
	options := []string{"RELATED_IMAGE=web:2", "WEB_PORT=80", "WEB_SERVICE=a", "WQ_SERVICE_HOSTS=b"}
	others := []string{
		"_=/manager", "OLDPWD=/", "PWD=/root", "SHLVL=2", "INVOCATION_ID=7", "JOURNAL_STREAM=8:9",
		"SYSTEMD_EXEC_PID=9", "HOSTNAME=pod-1", "POD_NAME=pod-1", "DB_SERVICE_HOST=10.0.0.1",
		"DB_SERVICE_PORT=5432", "DB_SERVICE_PORT_SQL=5432", "DB_PORT=tcp://10.0.0.1:5432",
		"DB_PORT_5432_TCP_ADDR=10.0.0.1"}
	got := configuration(slices.Concat(others, options), "pod-1")
	if !slices.Equal(got, options) {
		t.Errorf("%q, want %q", got, options)
	}
	if got := configuration([]string{"EMPTY="}, ""); len(got) != 1 {
		t.Errorf("without the host's name: %q", got)
	}
}

func TestWhatIsKeptOfAnObjectHasItsMetadataAndFits(t *testing.T) {
	long := strings.Repeat("x", maxTombstone)
	for name, test := range map[string]struct {
		change func(o *metav1.ObjectMeta)
		want   string // What is kept: labels, annotations, owners.
	}{
		"all":         {func(*metav1.ObjectMeta) {}, "yes yes owner"},
		"annotations": {func(o *metav1.ObjectMeta) { o.Annotations["long"] = long }, "yes - owner"},
		"labels":      {func(o *metav1.ObjectMeta) { o.Labels["long"] = long }, "- - owner"},
		"owners":      {func(o *metav1.ObjectMeta) { o.OwnerReferences[0].Kind = long }, "- - -"},
		"managers": {func(o *metav1.ObjectMeta) {
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
		}, "yes yes owner"},
		"applied": {func(o *metav1.ObjectMeta) {
			o.Annotations[corev1.LastAppliedConfigAnnotation] = "the password"
		}, "yes yes owner"},
	} {
		o := secret(1, "db")
		o.Labels["kept"], o.Annotations = "yes", map[string]string{"kept": "yes"}
		o.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
		o.Data = map[string][]byte{"password": []byte("secret")}
		test.change(&o.ObjectMeta)
		text := tombstoneOf(o, nil)
		got := objectFrom(&corev1.Secret{}, nameOf(o), text)
		kept := []string{"-", "-", "-"}
		for i, of := range []map[string]string{got.Labels, got.Annotations} {
			if of["kept"] != "" {
				kept[i] = of["kept"]
			}
		}
		if len(got.OwnerReferences) > 0 {
			kept[2] = got.OwnerReferences[0].Name
		}
		if strings.Join(kept, " ") != test.want || nameOf(got) != nameOf(o) || got.UID != o.UID ||
			len(got.Data) > 0 || strings.Contains(text, "password") || len(text) > maxTombstone {
			t.Errorf("%s: %s, %q of %+v", name, kept, text, got)
		}
	}
}

func TestWhatIsKeptDiffersWhenTheObjectDoes(t *testing.T) {
	nothing := func(*corev1.Secret) any { return nil }
	old, now := secret(1, "db"), secret(1, "db")
	old.ResourceVersion, now.ResourceVersion = "1", "2"
	if tombstoneOf(old, nothing) == tombstoneOf(now, nothing) {
		t.Fatal("a change of an object whose events are dropped is not seen")
	}
}

func TestWhatIsKeptMayBeTheCallersAndOfAnyKind(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": "9"}}}
	kind := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Widget"}}
	for want, keep := range map[string]func(*unstructured.Unstructured) any{
		"":  nil,
		"9": func(u *unstructured.Unstructured) any { return u.Object },
		"5": func(*unstructured.Unstructured) any { // Without a kind.
			return map[string]any{"spec": map[string]any{"size": "5"}}
		},
	} {
		got := objectFrom(kind, nameOf(u), tombstoneOf(u, keep))
		size, _, _ := unstructured.NestedString(got.Object, "spec", "size")
		if got.GetName() != "w" || got.GetKind() != "Widget" || size != want {
			t.Errorf("%q: %v", want, got.Object)
		}
	}
	got := objectFrom(&corev1.Secret{}, "web/s", "damaged")
	if got.GetName() != "s" || got.GetNamespace() != "web" {
		t.Errorf("%v", got)
	}
}
