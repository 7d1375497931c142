#!/usr/bin/python3
"""kubernetes_test.py WQCTL SOURCE_DIR: checks packaging/kubernetes without a cluster.

Each manifest parses and has only fields that its kind has; names that must agree do; the
arguments are options that wqctl has; volume.yaml's really start a server, in a root directory that
has nothing but the program and its libraries; and the Dockerfile installs the packages of all of
these libraries."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

WQCTL = os.path.realpath(sys.argv[1])
SOURCE = os.path.realpath(sys.argv[2])
FOLDER = os.path.join(SOURCE, "packaging", "kubernetes")
FAILED = []


def check(holds, message):
    if not holds:
        FAILED.append(message)


# The fields of each kind that the manifests may use. A nested table has the fields below; None: any.
PROBE = {"httpGet": {"path", "port"}, "periodSeconds": None, "failureThreshold": None}
CONTAINER = {
    "name": None, "image": None, "args": None, "env": None, "ports": {"name", "containerPort"},
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests", "limits"}, "volumeMounts": {"name", "mountPath", "readOnly"},
    "securityContext": {"allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"}}
POD = {
    "automountServiceAccountToken": None, "terminationGracePeriodSeconds": None,
    "affinity": {"podAntiAffinity"}, "containers": CONTAINER, "volumes": {"name", "secret"},
    "securityContext": {"runAsNonRoot", "runAsUser", "fsGroup", "seccompProfile"}}
KINDS = {
    ("v1", "Service"): {
        "clusterIP": None, "publishNotReadyAddresses": None, "selector": None,
        "ports": {"name", "port", "targetPort"}},
    ("apps/v1", "StatefulSet"): {
        "serviceName": None, "replicas": None, "podManagementPolicy": None,
        "updateStrategy": {"type"}, "selector": {"matchLabels"},
        "template": {"metadata": {"labels"}, "spec": POD}, "volumeClaimTemplates": None},
    ("monitoring.coreos.com/v1", "PodMonitor"): {
        "selector": {"matchLabels"}, "podMetricsEndpoints": {"port", "path", "interval"}}}


def check_fields(value, allowed, where):
    if isinstance(value, list):
        for i, item in enumerate(value):
            check_fields(item, allowed, f"{where}[{i}]")
        return
    if allowed is None or not isinstance(value, dict):
        return
    for field, below in value.items():
        check(field in allowed, f"{where}: no field {field}")
        if isinstance(allowed, dict) and field in allowed:
            check_fields(below, allowed[field], f"{where}.{field}")


def options_of(verb):
    text = subprocess.run([WQCTL, verb, "--help"], check=True, capture_output=True, text=True)
    return set(re.findall(r"--[a-z][a-z-]*", text.stdout))


def check_manifest(path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    sets = [d for d in documents if d["kind"] == "StatefulSet"]
    for document in documents:
        kind = (document["apiVersion"], document["kind"])
        check(kind in KINDS, f"{name}: unknown kind {kind}")
        check(set(document) == {"apiVersion", "kind", "metadata", "spec"}, f"{name}: {set(document)}")
        check_fields(document["spec"], KINDS.get(kind), f"{name}: {kind[1]}")
    for one in sets:
        check_set(name, one["spec"], [d for d in documents if d["kind"] == "Service"])
    return sets


def check_set(name, spec, services):
    labels = spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    container = pod["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    check(spec["selector"]["matchLabels"] == labels, f"{name}: the selector is not the labels")
    check(spec["serviceName"] in [s["metadata"]["name"] for s in services],
          f"{name}: no service {spec['serviceName']}")
    for service in services:
        check(service["spec"]["selector"] == labels, f"{name}: a service selects other pods")
        for port in service["spec"]["ports"]:
            check(port["targetPort"] in ports, f"{name}: no port {port['targetPort']}")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if probe in container:
            check(container[probe]["httpGet"]["port"] in ports, f"{name}: the port of {probe}")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    volumes = [v["name"] for v in pod["volumes"]]
    volumes += [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]]
    check(set(mounts) == set(volumes), f"{name}: mounts {set(mounts)}, volumes {set(volumes)}")
    known = options_of("serve")
    for argument in container["args"]:
        if argument == "serve":
            continue
        option, _, value = argument.partition("=")
        check(option in known, f"{name}: wqctl serve has no {option}")
        if value.startswith("/"):
            check(any(value.startswith(m + "/") for m in mounts.values()),
                  f"{name}: {value} is in no volume")
        if option in ("--address", "--http"):
            check(int(value.rpartition(":")[2]) in ports.values(), f"{name}: no port for {value}")
    grace = re.search(r"--grace=(\d+)s", " ".join(container["args"]))
    check(int(grace[1]) < pod["terminationGracePeriodSeconds"], f"{name}: killed before its grace")


def libraries():
    text = subprocess.run(["ldd", WQCTL], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(/\S+)", text)


# Packages that the image of Debian has.
BASE = {"libc6", "libgcc-s1"}


def check_packages():
    with open(os.path.join(FOLDER, "Dockerfile"), encoding="utf-8") as file:
        listed = set(re.findall(r"[a-z0-9.+-]+", file.read().rpartition("FROM")[2]))
    for path in libraries():
        names = [path, os.path.realpath(path)]
        names += [n[4:] for n in names if n.startswith("/usr/")] + ["/usr" + n for n in names]
        owner = None
        for candidate in names:
            found = subprocess.run(["dpkg", "-S", candidate], capture_output=True, text=True)
            if found.returncode == 0:
                owner = found.stdout.partition(":")[0]
                break
        check(owner is not None, f"no package has {path}")
        check(owner in BASE or owner in listed, f"the Dockerfile lacks {owner}, which has {path}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# As a container, with /proc and /dev, which end with the process.
ENTER = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'


def check_start(spec):
    """Starts the container's arguments in a root directory as the image's."""
    if os.geteuid() != 0:
        print("kubernetes_test: not root: the arguments are not started in a root directory")
        return
    args = spec["template"]["spec"]["containers"][0]["args"]
    ports = {"7711": free_port(), "9464": free_port()}
    args = [re.sub(r"0\.0\.0\.0:(\d+)", lambda m: f"0.0.0.0:{ports[m[1]]}", a) for a in args]
    with tempfile.TemporaryDirectory() as root:
        for path in [WQCTL] + libraries():
            target = root + ("/usr/bin/wqctl" if path == WQCTL else path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(path, target)
        for made in ("/var/lib/wq", "/etc/wq", "/tmp", "/dev", "/proc"):
            os.makedirs(root + made)
        with open(root + "/etc/wq/token", "w", encoding="utf-8") as file:
            file.write("secret\n")
        os.chmod(root + "/etc/wq/token", 0o400)
        with open(root + "/out", "wb") as out, subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", ENTER, root, "/usr/bin/wqctl"] + args,
                stdout=out, stderr=out) as process:
            until = time.monotonic() + 60
            ready = False
            while not ready and process.poll() is None and time.monotonic() < until:
                try:
                    with urllib.request.urlopen(
                            f"http://127.0.0.1:{ports['9464']}/readyz", timeout=1) as answer:
                        ready = answer.status == 200
                except (urllib.error.URLError, OSError):
                    pass
            check(ready, "the server is not ready: " + open(root + "/out", encoding="utf-8").read())
            process.send_signal(signal.SIGTERM)
            check(process.wait(timeout=60) == 0, "SIGTERM does not end it with 0")


for manifest in sorted(glob.glob(FOLDER + "/*.yaml")):
    for one_set in check_manifest(manifest):
        if os.path.basename(manifest) == "volume.yaml":
            check_start(one_set["spec"])
check_packages()
for line in FAILED:
    print("kubernetes_test:", line, file=sys.stderr)
sys.exit(1 if FAILED else 0)
