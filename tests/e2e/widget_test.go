package e2e

// This file has the custom resource.

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

const namespace = "default"

var group = schema.GroupVersion{Group: "e2e.example.org", Version: "v1"}

type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   widgetSpec   `json:"spec"`
	Status widgetStatus `json:"status,omitzero"`
}

type widgetSpec struct {
	Number int    `json:"number"` // What is changed.
	Kind   string `json:"kind,omitempty"`
	Secret string `json:"secret,omitempty"` // The name of one that the widget reads.
}

// The kinds of a widget. All others succeed.
const (
	fails       = "fails"       // Each of its reconciles fails.
	quarantined = "quarantined" // Its first reconcile quarantines it.
	parent      = "parent"      // It has a ConfigMap.
)

type widgetStatus struct {
	Generation int64 `json:"generation"` // That was reconciled last.
}

type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []widget `json:"items"`
}

func (w *widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (l *widgetList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = make([]widget, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*widget)
	}
	return &c
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	s.AddKnownTypeWithName(group.WithKind("Widget"), &widget{})
	s.AddKnownTypeWithName(group.WithKind("WidgetList"), &widgetList{})
	metav1.AddToGroupVersion(s, group)
	return s
}()
