"""The workers and sessions of wq.Client."""

import datetime
import queue
import threading
import unittest
from unittest import mock

import support

import wq
from wq import _state
from wq.v1 import types_pb2, work_pb2


class Outcomes(support.Case):
    """What a handler returns or raises, by any server."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.pods = self.client(self.server)

    def test_a_handler_gets_the_job_and_its_end_is_done(self):
        jobs = queue.Queue()
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        self.pods.add("pods", "käse", create=True, reason="changed", traceparent=trace)

        @self.pods.worker("pods", concurrency=2, name="tester")
        def reconcile(job):
            jobs.put((job, [each.name for each in self.pods.workers("pods")], job.lost))

        self.start(self.pods)
        job, names, lost = self.get(jobs)
        self.assertEqual((job.key, job.text), ("käse".encode(), "käse"))
        self.assertEqual((job.attempt, job.failures, job.last_error), (1, 0, ""))
        self.assertEqual((job.lane, job.group), (0, b""))
        self.assertEqual((job.causes, job.causes_left_out), ((wq.Cause("changed", trace),), 0))
        self.assertGreater(job.token, 0)
        self.assertGreater(job.added_at.year, 2000)
        self.assertEqual((names, lost), (["tester"], False))
        counts = support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        self.assertEqual((counts.queued, counts.processing), (0, 0))

    def test_the_outcomes_of_handlers(self):
        keys = ["failed", "exits", "wrong", "later", "hopeless", "back"]
        self.pods.add("pods", keys, create=True)
        seen = queue.Queue()

        @self.pods.worker("pods")
        def reconcile(job):
            if job.text == "later":
                return wq.RequeueAfter(3600)
            if job.text == "hopeless":
                raise wq.Quarantine("it is hopeless")
            if job.text == "back" and job.attempt == 1:
                raise wq.GiveBack
            if job.text == "failed" and job.failures == 0:
                raise ValueError("boom")
            if job.text == "exits" and job.failures == 0:
                raise SystemExit(3)
            if job.text == "wrong" and job.failures == 0:
                return True
            seen.put((job.text, (job.attempt, job.failures, job.last_error)))
            return None

        log = self.quiet()
        self.start(self.pods)
        retried = dict(self.get(seen) for _ in range(4))
        self.assertEqual(retried["failed"], (2, 1, "ValueError: boom"))
        self.assertEqual(retried["exits"], (2, 1, "SystemExit: 3"))
        self.assertIn("not True", retried["wrong"][2])
        self.assertEqual(retried["back"], (2, 0, ""))
        support.wait_for_counts(
            self.pods, "pods", lambda c: not c.queued + c.processing and c.delayed == 1
        )
        (listed,) = self.pods.list("pods", quarantined=True)
        self.assertEqual((listed.key, listed.last_error), (b"hopeless", "it is hopeless"))
        self.assertEqual(listed.failures, 1)
        self.assertIn("boom", "\n".join(log.output))

    def test_an_answer_that_cannot_be_sent_is_a_failure_of_its_key(self):
        self.pods.add("pods", sorted(support.ANSWERS), create=True)
        failed = queue.Queue()

        @self.pods.worker("pods")
        def reconcile(job):
            if job.failures == 0:
                return support.ANSWERS[job.text][0]()
            failed.put((job.text, job.last_error))

        self.quiet()
        self.start(self.pods)
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.delayed == 2)
        self.check_answers([self.get(failed) for _ in range(len(support.ANSWERS) - 2)])

    def test_added_again_reports_a_later_add(self):
        self.pods.add("pods", "a", create=True)
        seen = queue.Queue()

        @self.pods.worker("pods")
        def reconcile(job):
            if job.attempt == 1 and seen.empty():
                seen.put(job.added_again())
                self.pods.add("pods", "a")
                seen.put(job.added_again())

        self.start(self.pods)
        self.assertEqual([self.get(seen), self.get(seen)], [False, True])

    def test_the_handler_of_a_long_error_keeps_its_characters_whole(self):
        text = wq.outcomes.error_text("ä" * 1000)
        self.assertEqual(text, "ä" * 512)
        self.assertEqual(wq.outcomes.error_text("\ud800"), "?")

    def test_a_missing_queue_ends_the_run(self):
        self.pods.worker("none")(lambda job: None)
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(lambda job: None)
        with self.assertRaisesRegex(wq.NotFound, "none"):
            support.Run(self.pods, {}).join()

    def test_a_token_file_that_cannot_be_read_ends_the_run(self):
        client = self.client(self.server, token_file=self.directory / "missing")
        client.worker("pods", create=True)(lambda job: None)
        with self.assertRaisesRegex(wq.Unauthenticated, "missing"):
            support.Run(client, {}).join()

    def test_a_closed_client_ends_the_run(self):
        self.pods.add("pods", "a", create=True)
        client = wq.Client(self.server.directory)
        begun = queue.Queue()
        client.worker("pods")(begun.put)
        self.quiet()
        run = self.start(client)
        self.get(begun)
        client.close()
        with self.assertRaisesRegex(wq.Error, "closed"):
            run.join()

    def test_a_run_without_room_for_its_threads_ends(self):
        self.pods.worker("pods")(print)
        with mock.patch("threading.Thread.start", side_effect=RuntimeError("no room")):
            with self.assertRaisesRegex(RuntimeError, "no room"):
                self.pods.run()

    def test_run_without_a_worker_is_invalid(self):
        with self.assertRaises(wq.InvalidArgument):
            self.pods.run()
        with self.assertRaises(wq.InvalidArgument):
            self.pods.worker("pods", concurrency=0)

    def test_a_worker_continues_after_a_restart_of_the_server(self):
        self.pods.add("pods", "a", create=True, durability="process")
        done = queue.Queue()
        self.pods.worker("pods")(lambda job: done.put(job.key))
        self.quiet()
        self.start(self.pods)
        self.assertEqual(self.get(done), b"a")
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        self.server.stop()
        self.server.start()
        with self.client(self.server) as other:
            other.add("pods", "b")
        self.assertEqual(self.get(done), b"b")


class Stopping(support.Case):
    """The end of a run, by any server."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.pods = self.client(self.server)
        self.begun, self.finish = queue.Queue(), threading.Event()

    def hold(self, job):
        self.begun.put(job)
        self.wait(self.finish)

    def test_a_stop_waits_for_handlers_and_gives_back_the_other_keys(self):
        self.pods.add("pods", ["a", "b", "c"], create=True)
        self.pods.worker("pods", prefetch=2)(self.hold)
        run = self.start(self.pods)
        self.assertEqual(self.get(self.begun).key, b"a")
        self.pods.stop()
        counts = support.wait_for_counts(self.pods, "pods", lambda counts: counts.queued == 2)
        self.assertEqual(counts.processing, 1)
        self.finish.set()
        run.join()
        counts = self.pods.counts("pods")
        self.assertEqual((counts.dones, counts.queued, counts.processing), (1, 2, 0))
        self.assertTrue(self.begun.empty())

    def test_a_grace_without_an_end_gives_back_no_key(self):
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        with self.assertRaisesRegex(wq.InvalidArgument, "grace inf"):
            self.pods.run(grace=float("inf"))
        run = self.start(self.pods, grace=1e15)
        self.get(self.begun)
        self.pods.stop()
        self.finish.set()
        run.join()
        self.assertEqual(self.pods.counts("pods").dones, 1)

    def test_after_the_grace_the_key_is_given_back_and_the_job_is_lost(self):
        self.addCleanup(self.finish.set)
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        run = self.start(self.pods, grace=0)
        job = self.get(self.begun)
        self.pods.stop()
        run.join()
        self.assertTrue(job.wait_lost(0))
        self.assertIn("grace", job.lost_reason)
        counts = self.pods.counts("pods")
        self.assertEqual((counts.queued, counts.processing, counts.failing), (1, 0, 0))
        self.assertEqual(self.pods.stats()["pods"].given_back, 1)

    def test_a_later_run_in_the_process_waits_for_a_handler_that_was_left_behind(self):
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        run = self.start(self.pods, grace=0)
        first = self.get(self.begun)
        self.pods.stop()
        run.join()
        self.start(self.pods)
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.processing == 1)
        self.assertTrue(self.begun.empty())
        self.finish.set()
        self.assertGreater(self.get(self.begun).token, first.token)

    def test_a_key_is_free_after_a_run_that_ended_while_it_waited(self):
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods", concurrency=2)(self.hold)
        for key in (b"a", b"b"):
            # The second run is assigned "a", too, before "b" begins.
            self.pods.add("pods", key)
            run = self.start(self.pods, grace=0)
            self.assertEqual(self.get(self.begun).key, key)
            self.pods.stop()
            run.join()
        self.finish.set()
        self.start(self.pods)
        self.assertEqual({self.get(self.begun).key for _ in range(2)}, {b"a", b"b"})

    def test_a_stop_before_the_run_ends_it_at_once(self):
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        self.pods.stop()
        support.Run(self.pods, {"grace": 0}).join()


class Faults(support.Case):
    """Broken streams, lost keys and refused answers."""

    def setUp(self):
        super().setUp()
        self.server = self.serve_fake()
        self.pods = self.client(self.server)
        self.begun = queue.Queue()
        self.ends = {}  # key -> the event that ends its handlers
        self.running = set()
        self.overlaps = []

    def hold(self, job):
        """A handler that runs until the test ends it, and notes if two have one key."""
        if job.key in self.running:
            self.overlaps.append(job.key)
        self.running.add(job.key)
        end = threading.Event()
        self.begun.put((job, end))
        self.wait(end)
        self.running.discard(job.key)

    def let_a_later_key_begin(self, client):
        """What was assigned before has come to its worker then."""
        client.add("pods", "later")
        job, end = self.get(self.begun)
        self.assertEqual(job.key, b"later")
        end.set()

    def messages(self, condition):
        return [each for session, each in self.server.requests if condition(session, each)]

    def test_heartbeats_are_sent_while_a_handler_runs_and_only_then(self):
        self.server.silence_limit_us = 60_000
        self.pods.add("idle", [], create=True)
        self.pods.add("pods", "a", create=True)
        self.pods.worker("idle")(self.hold)
        self.pods.worker("pods")(self.hold)
        self.start(self.pods)
        _, end = self.get(self.begun)

        def beats(queue_name):
            return self.messages(
                lambda session, each: session.hello.queue == queue_name and not each.ByteSize()
            )

        self.server.wait_for(lambda _: len(beats("pods")) >= 5, "five heartbeats")
        self.assertEqual(beats("idle"), [])
        end.set()
        # A key of a worker that was idle for longer than a beat.
        self.pods.add("idle", "b")
        _, end = self.get(self.begun)
        self.server.wait_for(lambda _: len(beats("idle")) >= 2, "two heartbeats")
        end.set()

    def test_a_lost_key_is_reported_to_its_handler_and_its_place_is_freed(self):
        self.pods.add("pods", ["a", "b"], create=True)
        self.pods.worker("pods")(self.hold)
        run = self.start(self.pods)
        job, end = self.get(self.begun)
        self.server.take_away(b"a")
        self.assertTrue(job.wait_lost(support.WAIT))
        self.assertEqual((job.lost, job.lost_reason), (True, "taken by a test"))
        self.assertTrue(job.added_again())
        self.assertTrue(self.begun.empty())
        end.set()
        job, end = self.get(self.begun)
        self.assertEqual(job.key, b"b")
        end.set()
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        run.stop()
        stats = self.pods.stats()["pods"]
        self.assertEqual((stats.lost, stats.refused), (1, 0))

    def test_the_start_of_each_handler_is_told_and_no_key_that_waits(self):
        self.pods.add("pods", ["a", "b", "c"], create=True)
        self.pods.worker("pods", prefetch=2)(self.hold)
        self.start(self.pods)

        def started(server):
            return [token for _, each in server.requests for token in each.started]

        for number in range(1, 4):
            job, end = self.get(self.begun)
            self.server.wait_for(lambda s: job.token in started(s), "the start is told")
            self.assertEqual(len(started(self.server)), number)
            end.set()
        self.assertTrue(self.messages(lambda _, each: each.hello.tells_starts))

    def test_a_lost_key_whose_handler_has_not_begun_is_answered_at_once(self):
        self.pods.add("pods", ["a", "b"], create=True)
        self.pods.worker("pods", prefetch=1)(self.hold)
        self.start(self.pods)
        _, end = self.get(self.begun)
        self.server.wait_for(lambda s: b"b" in s.queues["pods"].processing, "b is assigned")
        self.server.take_away(b"b")
        self.server.wait_for(lambda s: len(s.sessions[0].held) == 1, "the place of b is freed")
        end.set()
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        self.assertTrue(self.begun.empty())

    def test_a_key_that_comes_back_waits_for_its_old_handler(self):
        self.pods.add("pods", "a", create=True)
        self.pods.worker("pods", concurrency=3)(self.hold)
        self.quiet()
        run = self.start(self.pods)
        old, end_old = self.get(self.begun)
        self.server.break_streams()
        self.assertTrue(old.wait_lost(support.WAIT))
        # The place of the old handler is not offered to the server.
        self.server.wait_for(lambda s: s.sessions and s.sessions[0].held, "a is assigned again")
        self.assertEqual(self.server.sessions[0].hello.capacity, 2)
        self.let_a_later_key_begin(self.pods)
        end_old.set()
        new, end_new = self.get(self.begun)
        self.assertEqual(new.key, b"a")
        self.assertGreater(new.token, old.token)
        self.assertEqual(new.attempt, 2)
        self.server.wait_for(lambda s: s.sessions[0].capacity == 3, "the place is offered again")
        end_new.set()
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 2)
        self.assertEqual(self.overlaps, [])
        run.stop()
        stats = self.pods.stats()["pods"]
        self.assertEqual((stats.done, stats.lost, stats.connects), (2, 1, 2))

    def test_a_worker_of_a_replica_connects_again_until_it_owns_the_store(self):
        self.pods.add("pods", "a", create=True)
        self.server.not_owner = 3
        self.pods.worker("pods")(lambda job: None)
        self.quiet()
        self.start(self.pods)
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        self.assertEqual(self.server.not_owner, 0)

    def test_without_a_free_place_the_worker_does_not_connect(self):
        self.pods.add("pods", ["a", "b"], create=True)
        self.pods.worker("pods")(self.hold)
        self.pods.add("idle", [], create=True)
        self.pods.worker("idle")(self.hold)
        self.quiet()
        at_once = mock.patch.object(_state.Backoff, "next", return_value=0.0)
        with at_once:
            self.start(self.pods)
            old, end = self.get(self.begun)
            self.server.wait_for(lambda s: len(s.sessions) == 2, "both workers are connected")
            self.server.break_streams()
            # The second worker is the clock: it is back, and the first is not.
            self.server.wait_for(lambda s: s.sessions, "the second worker is back")
        self.assertTrue(old.wait_lost(support.WAIT))
        other = self.client(self.server)
        with other.work("pods") as session:
            job = next(iter(session))
            self.assertEqual(
                sorted(each.hello.queue for each in self.server.sessions), ["idle", "pods"]
            )
            job.done(wait=True)
        end.set()
        self.get(self.begun)[1].set()
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 2)

    def test_two_workers_of_a_process_never_run_one_key_at_once(self):
        self.pods.add("pods", "a", create=True)
        other = self.client(self.server)
        self.pods.worker("pods", name="first")(self.hold)
        other.worker("pods", name="second", concurrency=2)(self.hold)
        self.quiet()
        self.start(self.pods)
        old, end_old = self.get(self.begun)
        self.start(other)
        self.server.wait_for(lambda s: len(s.sessions) == 2, "both are connected")
        self.server.break_streams()
        self.assertTrue(old.wait_lost(support.WAIT))
        self.server.wait_for(lambda s: s.sessions and s.sessions[0].held, "a is assigned again")
        self.assertEqual(self.server.sessions[0].hello.name, "second")
        self.let_a_later_key_begin(self.pods)
        end_old.set()
        self.get(self.begun)[1].set()
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 2)
        self.assertEqual(self.overlaps, [])

    def test_a_refused_answer_is_logged_and_counted(self):
        self.pods.add("pods", "a", create=True)
        self.server.refusals.append(
            types_pb2.Error(code=types_pb2.CODE_NOT_PROCESSING, message="token 1 is old")
        )
        tries = queue.Queue()
        self.pods.worker("pods")(tries.put)
        log = self.quiet()
        run = self.start(self.pods)
        first, second = self.get(tries), self.get(tries)
        self.assertGreater(second.token, first.token)
        support.wait_for_counts(self.pods, "pods", lambda counts: counts.dones == 1)
        self.assertIn("NotProcessing: token 1 is old", "\n".join(log.output))
        run.stop()
        self.assertEqual(self.pods.stats()["pods"].refused, 1)

    def test_the_workers_connect_when_the_server_is_started_later(self):
        self.server.stop()
        done = queue.Queue()
        self.pods.worker("pods", create=True)(lambda job: done.put(job.key))
        self.quiet()
        failed = self.event_of_a_log_message()
        self.start(self.pods)
        self.wait(failed)
        self.server.start()
        with self.client(self.server) as other:
            other.add("pods", "a", create=True)
        self.assertEqual(self.get(done), b"a")


class Sessions(support.Case):
    """Client.work."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.pods = self.client(self.server)
        self.pods.add("pods", ["a", "b", "c", "d", "e"], create=True)

    def test_jobs_are_answered_by_the_caller_and_the_rest_is_given_back(self):
        with self.pods.work("pods", capacity=5) as session:
            jobs = {job.key: job for _, job in zip(range(5), session)}
            self.assertEqual(jobs[b"a"].done(wait=True), wq.Reply(0, False))
            self.assertEqual(
                jobs[b"b"].failed("bad", quarantine=True, wait=True), wq.Reply(1, True)
            )
            jobs[b"c"].requeue_after(3600, wait=True)
            with self.assertRaises(wq.NotProcessing):
                jobs[b"a"].done()
            jobs[b"d"].failed(ValueError("later"))
        counts = self.pods.counts("pods")
        self.assertEqual((counts.dones, counts.quarantined, counts.processing), (4, 1, 0))
        self.assertEqual(counts.queued + counts.delayed, 3)
        self.assertTrue(jobs[b"e"].lost)

    def test_limits_of_any_length_keep_the_stream(self):
        longest = datetime.timedelta.max
        with self.pods.work("pods", silence_limit=1e12, key_limit=longest) as session:
            self.assertEqual(next(iter(session)).done(wait=True), wq.Reply(0, False))

    def test_close_ends_the_iteration(self):
        session = self.pods.work("pods", capacity=5)
        seen = queue.Queue()

        def iterate():
            for job in session:
                seen.put(job.key)
            seen.put(None)

        thread = threading.Thread(target=iterate)
        thread.start()
        self.assertEqual([self.get(seen) for _ in range(5)], [b"a", b"b", b"c", b"d", b"e"])
        session.close()
        self.assertIsNone(self.get(seen))
        thread.join()
        self.assertEqual(self.pods.counts("pods").queued, 5)


class SessionFaults(support.Case):
    """Client.work, of a server that misbehaves."""

    def setUp(self):
        super().setUp()
        self.server = self.serve_fake()
        self.pods = self.client(self.server)
        self.pods.add("pods", "a", create=True)

    def test_a_broken_stream_raises_and_its_jobs_are_lost(self):
        with self.pods.work("pods") as session:
            jobs = iter(session)
            job = next(jobs)
            self.server.break_streams()
            with self.assertRaisesRegex(wq.ShuttingDown, "the stream was broken"):
                next(jobs)
            self.assertTrue(job.lost)
            with self.assertRaisesRegex(wq.NotProcessing, "the stream was broken"):
                job.done()
            self.assertTrue(job.added_again())

    def test_an_answer_without_a_result_has_an_unknown_outcome(self):
        with self.pods.work("pods") as session:
            job = next(iter(session))
            self.server.hold_results = True
            threading.Thread(
                target=self.server.wait_for,
                args=(lambda s: s.queues["pods"].dones and not s.break_streams(), "an answer"),
            ).start()
            with self.assertRaisesRegex(wq.Unavailable, "unknown"):
                job.done(wait=True)

    def test_an_answer_that_is_not_durable_raises_if_it_is_waited_for(self):
        self.server.refusals.append(
            types_pb2.Error(code=types_pb2.CODE_NOT_DURABLE, message="the disk is full")
        )
        self.quiet()
        with self.pods.work("pods") as session:
            with self.assertRaisesRegex(wq.NotDurable, "the disk is full"):
                next(iter(session)).done(wait=True, durability="power")


class StreamState(unittest.TestCase):
    """wq._state.StreamState, without I/O."""

    def setUp(self):
        hello = _state.hello_of("pods", "n", 100, False, None, 30)
        self.state = _state.StreamState(hello, _state.Stats())

    def test_the_hello_has_the_limits_in_microseconds(self):
        hello = self.state.take().hello
        self.assertEqual((hello.silence_limit_us, hello.key_limit_us), (0, 30_000_000))
        self.assertEqual(self.state.beat, 10)
        self.state.receive(
            work_pb2.WorkResponse(
                welcome=work_pb2.Welcome(silence_limit_us=3_000_000, store_uuid="some uuid")
            )
        )
        self.assertEqual((self.state.beat, self.state.store_uuid), (1, "some uuid"))

    def test_what_accumulates_is_one_message(self):
        self.state.take()
        jobs = [_state.JobBase(work_pb2.Assignment(key=b"k", token=n), None) for n in range(1, 101)]
        for job in jobs:
            self.state.assign(job)
        for job in jobs:
            self.assertTrue(self.state.answer(job, None, None, 0))
            self.assertFalse(self.state.answer(job, None, None, 0))
        self.state.set_capacity(7)
        self.state.set_capacity(7)
        self.assertTrue(self.state.pending)
        message = self.state.take()
        self.assertEqual([answer.token for answer in message.answers], list(range(1, 101)))
        self.assertEqual(message.capacity, 7)
        self.assertFalse(self.state.pending)
        self.assertEqual(self.state.take().ByteSize(), 0)

    def test_the_backoff_grows_to_a_limit_and_has_jitter(self):
        backoff = _state.Backoff()
        delays = [backoff.next() for _ in range(12)]
        self.assertTrue(0.025 <= delays[0] <= 0.05, delays)
        self.assertTrue(2.5 <= delays[-1] <= 5, delays)
        self.assertEqual(len(set(delays)), len(delays))
        backoff.reset()
        self.assertLessEqual(backoff.next(), 0.05)


if __name__ == "__main__":
    unittest.main()
