package controllerruntime

// This file has what a source keeps of an object, and of the program.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"example.org/wq"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxTombstone is the greatest wq.Observation.Tombstone that a source takes.
const maxTombstone = 4096

// nameOf returns "namespace/name", or "name" without a namespace.
func nameOf(o client.Object) string { return toolscache.MetaObjectToName(o).String() }

// versionOf differs when the object does, and when it was deleted and made again. "": not known.
func versionOf(o client.Object) string {
	if o.GetResourceVersion() == "" {
		return ""
	}
	return string(o.GetUID()) + "/" + o.GetResourceVersion()
}

// tombstoneOf returns what objectFrom makes an object from: its version, and behind a line's end
// what SourceOptions.Keep says.
func tombstoneOf[object client.Object](o object, keep func(object) any) string {
	version := versionOf(o) + "\n"
	if keep != nil {
		if text, err := json.Marshal(keep(o)); err == nil && len(version)+len(text) <= maxTombstone {
			return version + string(text)
		}
	}
	kept := meta.AsPartialObjectMetadata(o)
	kept.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	kept.ManagedFields = nil
	if _, ok := kept.Annotations[corev1.LastAppliedConfigAnnotation]; ok { // Has a Secret's data.
		kept.Annotations = maps.Clone(kept.Annotations)
		delete(kept.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	for _, drop := range []func(){
		func() {},
		func() { kept.Annotations = nil },
		func() { kept.Labels, kept.Finalizers = nil, nil },
		func() { kept.OwnerReferences = nil },
	} {
		drop()
		if text, err := json.Marshal(kept); err == nil && len(version)+len(text) <= maxTombstone {
			return version + string(text)
		}
	}
	return version
}

// versionIn returns the version of the object of which a source has this row, also if it counts as
// changed, as one whose events a predicate drops.
func versionIn[request comparable](row wq.SeenObject[request]) (uid, resourceVersion string) {
	version := row.Version
	if version == "" {
		version, _, _ = strings.Cut(row.Tombstone, "\n")
	}
	uid, resourceVersion, _ = strings.Cut(version, "/")
	return uid, resourceVersion
}

// objectFrom returns the object of this kind and name, with what the tombstone has of it.
func objectFrom[object client.Object](kind object, name, tombstone string) object {
	o := kind.DeepCopyObject().(object)
	_, tombstone, _ = strings.Cut(tombstone, "\n")
	var err error
	if u, ok := any(o).(*unstructured.Unstructured); ok { // It cannot be decoded without a kind.
		content := map[string]any{}
		if err = utiljson.Unmarshal([]byte(tombstone), &content); err == nil && content != nil {
			u.SetUnstructuredContent(content)
			u.SetGroupVersionKind(kind.GetObjectKind().GroupVersionKind())
		}
	} else {
		err = json.Unmarshal([]byte(tombstone), o)
	}
	if err != nil {
		o = kind.DeepCopyObject().(object)
	}
	if parsed, err := toolscache.ParseObjectName(name); err == nil {
		o.SetNamespace(parsed.Namespace)
		o.SetName(parsed.Name)
	}
	return o
}

// ownFingerprint is the default of SourceOptions.Fingerprint.
var ownFingerprint = sync.OnceValues(func() (string, error) {
	executable, err := os.Open("/proc/self/exe") // Its path may have another file by now.
	if err != nil {
		return "", err
	}
	defer executable.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, executable); err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%q %q", os.Args[1:], configuration(os.Environ(), host))
	return hex.EncodeToString(hash.Sum(nil)), nil
})

// ofStart are variables of how a process was started, which are others each time: by a shell, by
// systemd.
var ofStart = []string{
	"_", "OLDPWD", "PWD", "SHLVL", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID"}

// configuration returns, sorted, the variables that may be options of the controller: without
// ofStart, without those with the name of the host, which is the pod and another one after each
// restart, and without those of the namespace's services, which come and go with others' work.
func configuration(environment []string, host string) []string {
	var services []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if service, isHost := strings.CutSuffix(name, "_SERVICE_HOST"); isHost {
			services = append(services, service)
		}
	}
	options := slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return (value == host && host != "") || slices.Contains(ofStart, name) ||
			slices.ContainsFunc(services, func(service string) bool {
				return name == service+"_PORT" || strings.HasPrefix(name, service+"_PORT_") ||
					strings.HasPrefix(name, service+"_SERVICE_")
			})
	})
	slices.Sort(options)
	return options
}
