#!/usr/bin/python3
"""Keeps the SHA-256 of each file of a directory in another directory: OUTPUT/NAME.sha256.

    worker.py STORE SOURCE OUTPUT

STORE is a store that a server serves (or another address of wq.Client). At its start the worker
adds the name of each file to the queue "digest"; a program that changes a file adds its name again.
Kill it at any instant, also with SIGKILL, and start it again, or start several: each file has its
digest in the end, and no old digest overwrites a newer one.
"""

import fcntl
import hashlib
import itertools
import logging
import os
import sys
import tempfile
import urllib.parse

import wq

QUEUE = "digest"


def digest_of(path):
    """The digest, or None if there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def write_fenced(path, token, text):
    """Writes the file, or removes it (None), unless a worker with a higher token has written it.

    A worker that was cut off, whose file another worker has now, may still be running: it arrives
    here with the lower token. PATH.token has the highest token so far.
    """
    with open(path + ".token", "a+", encoding="ascii") as fence:
        fcntl.flock(fence, fcntl.LOCK_EX)
        fence.seek(0)
        if int(fence.read() or 0) > token:
            # A cut-off worker's answer is dropped. Otherwise the token is of another store.
            raise wq.Quarantine(f"{path} was written with a higher token")
        fence.truncate(0)
        fence.write(str(token))
        fence.flush()
        if text is None:
            if os.path.exists(path):
                os.unlink(path)
            return
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as new:
            new.write(text)
        os.replace(new.name, path)


def main():
    """Runs until SIGTERM or SIGINT."""
    if len(sys.argv) != 4:
        sys.exit("usage: worker.py STORE SOURCE OUTPUT")
    store, source, output = sys.argv[1:]
    logging.basicConfig(format="%(asctime)s %(message)s")
    with wq.Client(store) as client:
        names = (entry.name for entry in os.scandir(os.fsencode(source)) if entry.is_file())
        added = deduplicated = 0
        while batch := list(itertools.islice(names, 1000)):
            result = client.add(QUEUE, batch, durability="process", create=True)
            added += result.added
            deduplicated += result.deduplicated
        print(f"added {added}, queued before {deduplicated}", flush=True)

        @client.worker(QUEUE, concurrency=4, key_limit=600)
        def reconcile(job):
            name = os.fsdecode(job.key)
            if "/" in name:
                raise wq.Quarantine("not the name of a file")
            target = os.path.join(output, urllib.parse.quote(job.key, safe="") + ".sha256")
            digest = digest_of(os.path.join(source, name))
            write_fenced(target, job.token, digest and f"{digest}  {name}\n")

        client.run(grace=10)


if __name__ == "__main__":
    main()
