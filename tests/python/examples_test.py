"""examples/python, and the quick start of docs/python.md, as a user runs them, by any server."""

import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

import support

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


PAGE = EXAMPLES.parents[1] / "docs" / "python.md"


class QuickStart(support.Case):
    """The worker of docs/python.md, beside a store pods.wq."""

    def test_the_worker_of_the_page_processes_its_keys(self):
        page = PAGE.read_text(encoding="utf-8")
        code = page.split("```python\n", 1)[1].split("```", 1)[0]
        server = self.serve("pods.wq")
        (self.directory / "worker.py").write_text(code, encoding="utf-8")
        child = subprocess.Popen(
            [sys.executable, "worker.py"],
            cwd=self.directory, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        client = self.client(server)
        client.add("pods", [], create=True)
        support.wait_for_counts(client, "pods", lambda counts: counts.dones == 2)
        child.send_signal(signal.SIGTERM)
        printed, _ = child.communicate(timeout=support.WAIT)
        self.assertEqual(child.returncode, 0)
        self.assertIn("default/web-1", printed)
        self.assertIn("default/web-2", printed)


class Examples(support.Case):
    """Each case runs an example as a process."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.pods = self.client(self.server)
        self.pods.add("probe", [], create=True)
        self.pods.add("digest", [], create=True)

    def example(self, name, *arguments):
        """Starts an example; its first line has come when this returns."""
        child = subprocess.Popen(
            [sys.executable, EXAMPLES / name, self.server.directory, *arguments],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child, child.stdout.readline()

    def stop(self, child):
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(support.WAIT), 0)

    def test_the_digests_are_right_after_a_kill(self):
        source, output = self.directory / "source", self.directory / "output"
        source.mkdir()
        output.mkdir()
        for n in range(100):
            (source / f"file {n}").write_bytes(b"%d" % n * 100_000)
        (output / "file%203.sha256").write_text("newer\n")
        (output / "file%203.sha256.token").write_text(str(2**62))
        child, line = self.example("worker.py", source, output)
        self.assertEqual(line, "added 100, queued before 0\n")
        support.wait_for_counts(self.pods, "digest", lambda counts: counts.dones >= 1)
        child.kill()
        child.wait()
        (source / "file 5").unlink()
        self.pods.add("digest", ["file 5", "a/b"])
        child, _ = self.example("worker.py", source, output)
        support.wait_for_counts(
            self.pods, "digest", lambda c: c.queued + c.processing == 0 and c.quarantined == 2
        )
        self.stop(child)
        for n in set(range(100)) - {3, 5}:
            digest = hashlib.sha256(b"%d" % n * 100_000).hexdigest()
            self.assertEqual((output / f"file%20{n}.sha256").read_text(), f"{digest}  file {n}\n")
        self.assertEqual((output / "file%203.sha256").read_text(), "newer\n")
        self.assertFalse(os.path.exists(output / "file%205.sha256"))

    def test_the_probe_of_a_server_is_repeated_later(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = "127.0.0.1:%d" % listener.getsockname()[1]
            child, line = self.example("aio_worker.py", address, "nonsense")
            self.assertEqual(line, f"{address} accepts connections\n")
            counts = support.wait_for_counts(
                self.pods, "probe", lambda c: c.delayed == c.quarantined == 1
            )
            self.assertLess(counts.next_due, 61)
            self.stop(child)


if __name__ == "__main__":
    unittest.main()
