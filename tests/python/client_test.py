"""The calls of wq.Client and wq.aio.Client: the same cases for both."""

import asyncio
import datetime
import os
import pathlib
import subprocess
import unittest
from unittest import mock

import grpc
import support

import wq
import wq.aio
from wq import _types
from wq.v1 import types_pb2, work_pb2


class Calls:
    """The cases. `make` makes a client of an address."""

    def connect(self, address, **options):
        client = self.make(address, **options)
        self.addCleanup(client.close)
        return client

    def serve_pods(self, server=None):
        """A server, and a client of it."""
        self.server = server or self.serve()
        return self.connect(self.server.directory)

    def test_delays_are_replaced_and_adds_debounced(self):
        client = self.serve_pods()
        client.add("pods", "a", delay=3600, create=True)
        self.assertEqual(client.add("pods", "a", delay=7200).deduplicated, 1)
        self.assertEqual(client.add("pods", "a", delay=7200, delay_mode="replace").added, 1)
        self.assertEqual(client.add("pods", "a", delay=60, delay_mode="replace").added, 1)
        self.assertEqual(client.add("pods", "a", delay=60, delay_mode="resync").deduplicated, 1)
        with self.assertRaisesRegex(wq.InvalidArgument, "delay_mode 'first'"):
            client.add("pods", "a", delay=60, delay_mode="first")
        hours = datetime.timedelta(hours=1), datetime.timedelta(hours=2)
        self.assertEqual(client.add("pods", "b", debounce=hours).added, 1)
        self.assertEqual(client.add("pods", "b", debounce=hours).deduplicated, 1)
        counts = client.counts("pods")
        self.assertEqual((counts.delayed, counts.queued, counts.stuck, counts.full), (2, 0, 0, 0))

    def test_adds_one_key_or_several_as_text_or_bytes(self):
        client = self.serve_pods()
        self.assertEqual(client.add("pods", "default/web-1", create=True), wq.AddResult(added=1))
        added = client.add("pods", [b"default/web-1", "käse", b"\xff\0"], durability="process")
        self.assertEqual(added, wq.AddResult(added=2, deduplicated=1))
        keys = [each.key for each in client.list("pods")]
        self.assertEqual(keys, [b"default/web-1", "käse".encode(), b"\xff\0"])
        self.assertEqual(client.counts("pods").queued, 3)

    def test_an_add_with_a_delay_is_delayed(self):
        client = self.serve_pods()
        client.add("pods", "now", create=True)
        client.add("pods", "later", delay=datetime.timedelta(hours=1))
        counts = client.counts("pods")
        self.assertEqual((counts.queued, counts.delayed), (1, 1))
        self.assertAlmostEqual(counts.next_due, 3600, delta=60)

    def test_a_refused_key_is_named_and_the_others_are_added(self):
        client = self.serve_pods()
        result = client.add("pods", ["a", "", "b"], create=True)
        self.assertEqual(result.added, 2)
        (refused,) = result.refused
        self.assertEqual((refused.index, refused.key), (1, b""))
        self.assertIsInstance(refused.error, wq.InvalidArgument)

    def test_only_text_and_bytes_are_keys(self):
        client = self.serve_pods()
        client.add("pods", [b"a", bytearray(b"b"), memoryview(b"c"), "d"], create=True)
        self.assertEqual([each.key for each in client.list("pods")], [b"a", b"b", b"c", b"d"])
        for wrong in (7, [5], [[1, 2]], [None], [("a",)]):
            with self.assertRaises(TypeError):
                client.add("pods", wrong)
        self.assertEqual(client.counts("pods").queued, 4)

    def test_a_missing_queue_is_not_found(self):
        client = self.serve_pods()
        with self.assertRaises(wq.NotFound) as caught:
            client.counts("none")
        self.assertEqual(caught.exception.code, "NotFound")
        self.assertIn("none", caught.exception.message)

    def test_lists_more_keys_than_one_call_returns(self):
        client = self.serve_pods()
        client.add("pods", [f"{n:04}" for n in range(2345)], create=True)
        listed = client.list("pods", limit=10_000)
        self.assertEqual([int(each.key) for each in listed], list(range(2345)))
        self.assertEqual(len(client.list("pods", limit=1001)), 1001)

    def test_removes_keys_and_names_the_absent(self):
        client = self.serve_pods()
        client.add("pods", ["a", "b"], create=True)
        result = client.remove("pods", ["a", "x"])
        self.assertEqual(result, wq.ChangeResult(1, (b"x",)))
        client.add("pods", "late", delay=3600)
        self.assertEqual(client.cancel_delay("pods", "late").done, 1)
        self.assertEqual(client.release("pods", "b"), wq.ChangeResult(0, (b"b",)))
        with self.assertRaises(wq.InvalidArgument):
            client.change("pods", "improve", "b")

    def test_releases_keys_at_a_rate(self):
        client = self.serve_pods(self.serve_fake())
        client.add("pods", "c", create=True)
        self.assertEqual(client.release("pods", ["a", "b"], per_second=0.5).done, 0)
        self.assertEqual(self.server.changes, [("RELEASE", 0.5)])

    def test_pauses_and_resumes(self):
        client = self.serve_pods()
        client.add("pods", "a", create=True)
        client.pause("pods")
        self.assertTrue(client.counts("pods").paused)
        self.assertTrue(client.resume("pods"))
        self.assertFalse(client.resume("pods"))

    def test_reads_the_store_and_deletes_a_queue(self):
        client = self.serve_pods()
        client.add("pods", "a", create=True)
        store = client.store()
        self.assertGreater(store.pid, 0)
        self.assertIsNone(store.health)
        self.assertEqual(store.queues["pods"].queued, 1)
        client.delete_queue("pods")
        with self.assertRaises(wq.NotFound):
            client.counts("pods")

    def test_takes_a_snapshot(self):
        client = self.serve_pods()
        snapshot = client.snapshot(str(self.directory), "first")
        self.assertTrue(snapshot.path.startswith(str(self.directory)))
        self.assertGreater(snapshot.bytes, 0)
        self.assertIsNotNone(snapshot.taken_at.tzinfo)
        with self.assertRaises(wq.InvalidArgument):
            client.snapshot("relative")

    def test_a_failed_write_is_not_durable(self):
        client = self.serve_pods(self.serve_fake())
        with self.assertRaisesRegex(wq.NotDurable, "the disk is full") as caught:
            client.flush()
        self.assertEqual(caught.exception.code, "NotDurable")

    def test_without_a_server_calls_are_unavailable(self):
        (self.directory / "empty").mkdir()
        client = self.connect(self.directory / "empty")
        with self.assertRaises(wq.Unavailable) as caught:
            client.counts("pods")
        self.assertEqual(caught.exception.code, "Unavailable")

    def test_a_call_ends_after_its_timeout(self):
        self.serve_pods(self.serve_fake())
        client = self.connect(self.server.directory, timeout=0.1)
        with self.server.changed, self.assertRaises(wq.TimedOut):
            client.counts("pods")

    def test_a_socket_can_have_a_path_of_any_length(self):
        name = "/".join("d" * 100 for _ in range(5))
        server = self.serve(name)
        client = self.connect(server.directory)
        self.assertEqual(client.add("pods", "a", create=True).added, 1)
        by_socket = self.connect(f"unix:{server.directory}/control.sock")
        self.assertEqual(by_socket.counts("pods").queued, 1)

    def test_a_path_can_be_relative_and_have_any_characters(self):
        server = self.serve("50% of: ä #1?")
        before = os.getcwd()
        os.chdir(self.directory)
        try:
            client = self.connect(pathlib.Path("50% of: ä #1?"))
        finally:
            os.chdir(before)
        client.add("pods", "a", create=True)
        self.assertEqual(self.connect(server.directory).counts("pods").queued, 1)

    def test_over_tcp_the_token_is_sent_and_its_file_is_read_anew(self):
        server = self.serve_fake()
        server.stop()
        (port,) = server.start(("127.0.0.1:0", None))
        self.connect(f"127.0.0.1:{port}", token="s3cret").add("pods", "a", create=True)
        file = self.directory / "token"
        file.write_text("first\n")
        client = self.connect(f"127.0.0.1:{port}", token_file=file)
        client.add("pods", "a")
        file.write_text("second\n")
        client.add("pods", "a")
        tokens = [each.get("authorization") for each in server.metadata]
        self.assertEqual(tokens, ["Bearer s3cret", "Bearer first", "Bearer second"])

    def test_tls_verifies_the_server_and_shows_the_clients_certificate(self):
        key, certificate = self.directory / "key.pem", self.directory / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=wq", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        server = self.serve_fake()
        server.stop()
        credentials = grpc.ssl_server_credentials(
            [(key.read_bytes(), certificate.read_bytes())], certificate.read_bytes(), True
        )
        (port,) = server.start(("127.0.0.1:0", credentials))
        address = f"127.0.0.1:{port}"
        client = self.connect(address, tls_ca=certificate, tls_cert=certificate, tls_key=key)
        self.assertEqual(client.add("pods", "a", create=True).added, 1)
        with self.assertRaises(wq.Unavailable):
            self.connect(address, tls_ca=certificate).counts("pods")

    def test_wrong_arguments_name_themselves(self):
        for address in ("nowhere", "host:", ":1", "host:http"):
            with self.assertRaisesRegex(wq.InvalidArgument, address):
                self.make(address)
        with self.assertRaisesRegex(wq.InvalidArgument, "token_file"):
            self.make("h:1", token="a", token_file="b")
        with self.assertRaisesRegex(wq.InvalidArgument, "tls_key"):
            self.make("h:1", tls_cert="a")
        client = self.serve_pods()
        with self.assertRaisesRegex(wq.InvalidArgument, "'forever'"):
            client.add("pods", "a", durability="forever")

    def durations(self, client):
        """(argument, a call with it) of all that take a duration and change no stream."""

        def waited(result):
            return client.wait(result) if asyncio.iscoroutine(result) else result

        job = self.job(work_pb2.Assignment(key=b"k"), mock.Mock())
        return [
            ("delay", lambda d: client.add("pods", "k", delay=d)),
            ("debounce", lambda d: client.add("pods", "k", debounce=(0, d))),
            ("duration", lambda d: client.pause("pods", d)),
            ("timeout", lambda d: self.connect(self.server.directory, timeout=d).counts("pods")),
            ("silence_limit", lambda d: client.worker("pods", silence_limit=d)),
            ("key_limit", lambda d: client.worker("pods", key_limit=d)),
            ("delay", wq.RequeueAfter),
            # These begin, or answer, if the duration is valid.
            ("debounce", lambda d: client.add("pods", "k", debounce=(d, 1))),
            ("silence_limit", lambda d: client.work("pods", silence_limit=d)),
            ("key_limit", lambda d: client.work("pods", key_limit=d)),
            ("grace", lambda d: client.run(grace=d)),
            ("delay", lambda d: waited(job.requeue_after(d))),
            ("timeout", lambda d: wq.Job(work_pb2.Assignment(), mock.Mock()).wait_lost(d)),
        ]

    def test_a_wrong_duration_is_named_by_every_call(self):
        client = self.serve_pods()
        client.add("pods", "a", create=True)
        wrong = (-5, -1e-9, float("nan"), float("inf"), datetime.timedelta(-1), "5", -(10**400))
        for argument, call in self.durations(client):
            for value in wrong:
                with self.subTest(argument=argument, value=str(value)[:20]):
                    with self.assertRaises(wq.InvalidArgument) as caught:
                        call(value)
                    self.assertIn(f"{argument} {value!r}: ", caught.exception.message)
        counts = client.counts("pods")
        self.assertEqual((counts.adds, counts.delayed, counts.paused), (1, 0, False))

    def test_a_long_duration_is_cut_and_a_timedelta_taken_by_every_call(self):
        client = self.serve_pods()
        client.add("pods", "a", create=True)
        for argument, call in self.durations(client)[:7]:
            for value in (datetime.timedelta(hours=1), datetime.timedelta.max, 1e15, 10**400):
                with self.subTest(argument=argument, value=str(value)[:20]):
                    call(value)
        century = 36525 * 86_400_000_000
        for value, us in ((1e15, century), (datetime.timedelta.max, century), (1e-9, 1), (0, 0),
                          (datetime.timedelta(microseconds=7), 7), (0.1, 100_000)):  # fmt: skip
            self.assertEqual(wq.RequeueAfter(value).delay_us, us)


class SyncCalls(Calls, support.Case):
    """wq.Client."""

    make = wq.Client
    job = wq.Job


class AioCalls(Calls, support.Case):
    """wq.aio.Client."""

    job = wq.aio.Job

    def make(self, address, **options):
        blocking = None

        def make():
            return wq.aio.Client(address, **options)

        blocking = support.Blocking(make)
        return blocking


class Errors(unittest.TestCase):
    """wq.errors."""

    def test_every_code_of_the_contract_has_a_subclass(self):
        for name, value in types_pb2.Code.items():
            if value:
                error = wq.errors.of_message(types_pb2.Error(code=value, message="why"))
                self.assertIsNot(type(error), wq.Error, name)
                self.assertEqual(error.code.lower(), name[len("CODE_") :].replace("_", "").lower())

    def test_every_durability_of_the_contract_has_a_name(self):
        for name, value in types_pb2.Durability.items():
            text = name[len("DURABILITY_") :].lower() if value else None
            self.assertEqual(_types.durability_value(text), value)

    def test_a_code_of_a_newer_server_is_an_error(self):
        error = wq.errors.of_message(types_pb2.Error(code=99, message="why"))
        self.assertEqual((type(error), str(error)), (wq.Error, "why"))


if __name__ == "__main__":
    unittest.main()
