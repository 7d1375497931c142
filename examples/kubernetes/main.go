// Command kubernetes copies Secrets: one with the annotation copies.example.org/to, such as
// "web,jobs", into these namespaces, where its copies change and go with it.
//
// Its queue and what it has seen are in a store, so a restart reconciles only what was pending and
// what has changed or was deleted meanwhile. The Secrets need no finalizer: one that was deleted
// meanwhile is found at the next start, and if nothing was seen of it, then its copies are, which
// map to it.
//
//	go build && ./kubernetes --store /var/lib/copies/wq
//
// In a cluster it needs one replica, a volume, and the right to get, list, watch, create, update
// and delete Secrets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"

	"example.org/wq"
	"example.org/wq/controllerruntime"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	to = "copies.example.org/to" // An annotation of an original: namespaces.
	of = "copies.example.org/of" // An annotation of a copy: "namespace/name" of the original.
	is = "copies.example.org/copy"
)

// original returns which Secret is to be reconciled when this one changes.
func original(_ context.Context, secret *corev1.Secret) []reconcile.Request {
	name := client.ObjectKeyFromObject(secret)
	if from, isCopy := secret.Annotations[of]; isCopy {
		name.Namespace, name.Name, _ = strings.Cut(from, "/")
	}
	return []reconcile.Request{{NamespacedName: name}}
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(
	ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctrl.LoggerFrom(ctx).Info("reconciling")
	var from corev1.Secret
	err := r.Get(ctx, request.NamespacedName, &from)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	wanted := map[string]bool{} // Namespaces; none if there is no original.
	for namespace := range strings.SplitSeq(from.Annotations[to], ",") {
		wanted[strings.TrimSpace(namespace)] = true
	}
	delete(wanted, "")
	delete(wanted, request.Namespace)
	var copies corev1.SecretList
	if err := r.List(ctx, &copies, client.MatchingLabels{is: "true"}); err != nil {
		return reconcile.Result{}, err
	}
	var failures []error // Of some namespaces; the others go on.
	for i := range copies.Items {
		c := &copies.Items[i]
		// A type cannot be changed: the copy is made again.
		if c.Annotations[of] == request.String() && (!wanted[c.Namespace] || c.Type != from.Type) {
			// Only what the cache has: by now it may be another Secret of that name.
			failures = append(failures, client.IgnoreNotFound(r.Delete(ctx, c,
				client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion})))
		}
	}
	for namespace := range wanted {
		c := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: from.Name}}
		_, err := controllerutil.CreateOrUpdate(ctx, r, c, func() error {
			if c.ResourceVersion != "" && c.Annotations[of] != request.String() {
				return fmt.Errorf("%s/%s is there, and is no copy of %s", namespace, c.Name, request)
			}
			metav1.SetMetaDataLabel(&c.ObjectMeta, is, "true")
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, of, request.String())
			c.Type, c.Data = from.Type, maps.Clone(from.Data)
			return nil
		})
		failures = append(failures, err)
	}
	return reconcile.Result{}, errors.Join(failures...)
}

func run(ctx context.Context, dir, metrics string) error {
	store, err := wq.Open(dir, wq.StoreOptions{
		CreateIfMissing: true, Metrics: true, Logger: ctrl.Log.WithName("wq")})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := controllerruntime.RegisterMetrics(store); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: metrics}})
	if err != nil {
		return err
	}
	secrets := controllerruntime.Kind("secrets", mgr.GetCache(), &corev1.Secret{},
		handler.TypedEnqueueRequestsFromMapFunc(original),
		controllerruntime.SourceOptions[*corev1.Secret]{})
	err = ctrl.NewControllerManagedBy(mgr).Named("copies").WatchesRawSource(secrets).
		WithOptions(controller.Options{
			NewQueue: controllerruntime.NewQueue(store, wq.QueueOptions[reconcile.Request]{})}).
		Complete(&reconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func main() {
	dir := flag.String("store", "wq", "the directory of the store")
	metrics := flag.String("metrics", ":8080", "where to serve metrics; 0: nowhere")
	flag.Parse() // Also --kubeconfig, of controller-runtime.
	ctrl.SetLogger(funcr.New(func(prefix, args string) { println(prefix, args) }, funcr.Options{}))
	if err := run(ctrl.SetupSignalHandler(), *dir, *metrics); err != nil {
		ctrl.Log.Error(err, "the controller ends")
		os.Exit(1)
	}
}
