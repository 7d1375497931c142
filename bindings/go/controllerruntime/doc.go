// Package controllerruntime fits wq to controller-runtime and client-go: the queue of a controller
// is durable, and a restart reconciles only what has changed or was deleted meanwhile. README.md is
// the way from `kubebuilder init` to it.
//
//	c, err := controller.New("pods", mgr, controller.Options{Reconciler: r,
//		NewQueue: controllerruntime.NewQueue(store, wq.QueueOptions[reconcile.Request]{})})
//	err = c.Watch(controllerruntime.Kind("pods", mgr.GetCache(), &corev1.Pod{},
//		&handler.TypedEnqueueRequestForObject[*corev1.Pod]{},
//		controllerruntime.SourceOptions[*corev1.Pod]{}))
//	err = mgr.AddReadyzCheck("wq", controllerruntime.Healthz(store))
package controllerruntime
