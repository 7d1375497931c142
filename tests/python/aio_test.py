"""The workers and sessions of wq.aio.Client."""

import asyncio
import concurrent.futures
import gc
import itertools
import threading
import unittest
from unittest import mock

import support

import wq
import wq.aio


class AioCase(unittest.IsolatedAsyncioTestCase, support.Case):
    """A test with a server and a client on the test's loop."""

    make_server = support.Case.serve

    def setUp(self):
        support.Case.setUp(self)
        self.server = self.make_server()

    async def asyncSetUp(self):
        self.pods = wq.aio.Client(self.server.directory)
        self.addAsyncCleanup(self.pods.close)
        self.begun = asyncio.Queue()
        self.running = set()
        self.overlaps = []

    async def hold(self, job):
        """A handler that runs until the test ends it, and notes if two have one key."""
        if job.key in self.running:
            self.overlaps.append(job.key)
        self.running.add(job.key)
        end = asyncio.Event()
        self.begun.put_nowait((job, end))
        try:
            await end.wait()
        finally:
            self.running.discard(job.key)

    async def get(self):
        return await asyncio.wait_for(self.begun.get(), support.WAIT)

    def run_workers(self, **options):
        """A task that ends with the test."""
        task = asyncio.ensure_future(self.pods.run(signals=False, **options))
        self.addAsyncCleanup(self.stop, task)
        return task

    async def stop(self, task):
        if not task.done():
            self.pods.stop()
        await asyncio.wait_for(asyncio.wait([task]), support.WAIT)

    async def counts(self, condition):
        """Waits until the counters are as wanted."""

        async def poll():
            while not condition(counts := await self.pods.counts("pods")):
                await asyncio.sleep(0.01)
            return counts

        return await asyncio.wait_for(poll(), support.WAIT)

    async def until(self, condition, what):
        """Waits for a condition of the fake server."""
        await asyncio.to_thread(self.server.wait_for, condition, what)


class Outcomes(AioCase):
    """By any server."""

    async def test_the_outcomes_of_handlers(self):
        keys = ["done", "failed", "exits", "later", "hopeless", "back", "unmade"]
        await self.pods.add("pods", keys, create=True)
        errors = []

        @self.pods.worker("pods", concurrency=3)
        async def reconcile(job):
            if job.text == "failed" and job.failures == 0:
                raise ValueError("boom")
            if job.text == "exits" and job.failures == 0:
                raise SystemExit(3)
            if job.text in ("failed", "exits"):
                errors.append(job.last_error)
            if job.text == "unmade" and job.failures == 0:
                cancelled = asyncio.get_running_loop().create_future()
                cancelled.cancel()
                await cancelled
            if job.text == "unmade":
                errors.append(job.last_error)
            if job.text == "later":
                return wq.RequeueAfter(3600)
            if job.text == "hopeless":
                raise wq.Quarantine("why")
            if job.text == "back" and job.attempt == 1:
                return wq.GiveBack()
            return None

        self.quiet()
        task = self.run_workers()
        await self.counts(
            lambda c: errors[2:] and not c.queued + c.processing and c.delayed == c.quarantined == 1
        )
        wanted = ["ValueError: boom", "SystemExit: 3", "asyncio.exceptions.CancelledError"]
        self.assertCountEqual(errors, wanted)
        await self.stop(task)
        stats = self.pods.stats()["pods"]
        self.assertEqual((stats.done, stats.failed), (5, 4))
        self.assertEqual((stats.requeued, stats.given_back), (1, 1))

    async def test_a_missing_queue_ends_the_run(self):
        self.pods.worker("none")(self.hold)
        with self.assertRaisesRegex(wq.NotFound, "none"):
            await self.pods.run(signals=False)

    async def test_a_stop_waits_for_the_grace_and_then_cancels(self):
        await self.pods.add("pods", ["a", "b"], create=True)
        self.pods.worker("pods", concurrency=2)(self.hold)
        task = self.run_workers(grace=0.05)
        (first, end), (second, _) = await self.get(), await self.get()
        self.pods.stop()
        end.set()
        await asyncio.wait_for(task, support.WAIT)
        self.assertFalse(first.lost)
        self.assertIn("grace", second.lost_reason)
        counts = await self.pods.counts("pods")
        self.assertEqual((counts.dones, counts.queued, counts.processing), (1, 1, 0))
        self.assertEqual(self.running, set())

    async def test_a_cancelled_run_cancels_its_handlers(self):
        await self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        for _ in range(4):  # Of which none is a death of the worker.
            task = self.run_workers()
            job, _ = await self.get()
            self.assertEqual(job.failures, 0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(self.running, set())
        counts = await self.pods.counts("pods")
        self.assertEqual((counts.queued, counts.dones, counts.failing), (1, 0, 0))

    async def test_a_handler_whose_task_is_cancelled_by_others_gives_its_key_back(self):
        await self.pods.add("pods", "a", create=True)
        self.pods.worker("pods")(self.hold)
        self.run_workers()
        job, _ = await self.get()
        job._task.cancel()
        job, end = await self.get()
        self.assertEqual((job.attempt, job.failures), (2, 0))
        end.set()

    async def test_the_end_waits_for_no_thread_of_the_executor(self):
        await self.pods.add("pods", ["a", "b"], create=True)
        may_end = threading.Event()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        blocked = loop.run_in_executor(None, may_end.wait)
        try:
            self.pods.worker("pods")(self.hold)
            task = self.run_workers(grace=0)
            await self.get()
            await self.stop(task)
            async with self.pods.work("pods") as session:
                async for _ in session:
                    break
            self.assertFalse(blocked.done())
        finally:
            may_end.set()

    async def test_wrong_arguments_raise_where_the_call_is_awaited(self):
        good = self.pods.add("pods", "a", create=True)
        results = await asyncio.gather(
            good, self.pods.add("pods", "b", delay=-1), return_exceptions=True
        )
        self.assertIsInstance(results[0], wq.AddResult)
        self.assertIsInstance(results[1], wq.InvalidArgument)

    async def test_a_session_answers_and_gives_back_the_rest(self):
        await self.pods.add("pods", ["a", "b", "c"], create=True)
        async with self.pods.work("pods", capacity=3) as session:
            jobs = []
            async for job in session:
                jobs.append(job)
                if len(jobs) == 3:
                    break
            self.assertEqual(await jobs[0].done(wait=True), wq.Reply(0, False))
            reply = await jobs[1].failed("bad", quarantine=True, wait=True)
            self.assertEqual(reply, wq.Reply(1, True))
            with self.assertRaises(wq.NotProcessing):
                await jobs[0].give_back()
        counts = await self.pods.counts("pods")
        self.assertEqual((counts.dones, counts.queued, counts.quarantined), (2, 1, 1))


class Faults(AioCase):
    """Broken streams and lost keys."""

    make_server = support.Case.serve_fake

    async def test_a_lost_key_cancels_its_handler_and_frees_its_place(self):
        await self.pods.add("pods", ["a", "b"], create=True)
        self.pods.worker("pods")(self.hold)
        task = self.run_workers()
        lost, _ = await self.get()
        self.server.take_away(b"a")
        job, end = await self.get()
        self.assertEqual((lost.lost_reason, job.key), ("taken by a test", b"b"))
        self.assertEqual(self.running, {b"b"})
        end.set()
        await self.counts(lambda counts: counts.dones == 1)
        await self.stop(task)
        stats = self.pods.stats()["pods"]
        self.assertEqual((stats.lost, stats.refused), (1, 0))

    async def test_a_key_that_comes_back_waits_for_its_old_handler(self):
        await self.pods.add("pods", "a", create=True)
        may_end = asyncio.Event()
        cancelled = asyncio.Event()

        @self.pods.worker("pods", concurrency=2)
        async def reconcile(job):
            try:
                await self.hold(job)
            except asyncio.CancelledError:
                self.running.add(job.key)
                cancelled.set()
                await may_end.wait()  # A handler with much to clean up.
                self.running.discard(job.key)
                raise

        self.quiet()
        self.run_workers()
        old, _ = await self.get()
        self.server.break_streams()
        await asyncio.wait_for(cancelled.wait(), support.WAIT)
        await self.until(lambda s: s.sessions and s.sessions[0].held, "a is assigned again")
        self.assertEqual(self.server.sessions[0].hello.capacity, 1)
        self.assertTrue(self.begun.empty())
        may_end.set()
        new, end = await self.get()
        self.assertGreater(new.token, old.token)
        await self.until(lambda s: s.sessions[0].capacity == 2, "the place is offered again")
        end.set()
        await self.counts(lambda counts: counts.dones == 1)
        self.assertEqual(self.overlaps, [])

    async def test_a_run_that_is_cancelled_twice_leaves_no_worker(self):
        await self.pods.add("pods", ["a", "b"], create=True)
        may_end = asyncio.Event()
        cancelled = asyncio.Semaphore(0)

        async def reconcile(job):
            try:
                await self.hold(job)
            finally:
                cancelled.release()
                await may_end.wait()

        self.pods.worker("pods")(reconcile)
        self.pods.worker("pods")(reconcile)
        task = self.run_workers()
        await self.get()
        await self.get()
        task.cancel()
        await asyncio.wait_for(cancelled.acquire(), support.WAIT)
        task.cancel()
        await asyncio.wait([task])
        await self.until(lambda s: not s.sessions, "the workers have ended")
        await asyncio.wait_for(cancelled.acquire(), support.WAIT)
        may_end.set()

    async def test_a_run_without_room_for_a_thread_leaves_no_worker(self):
        self.pods.worker("pods", create=True)(self.hold)
        self.pods.worker("late")(self.hold)
        start = threading.Thread.start

        def start_unless_late(thread):
            if thread.name == "wq-late-receive":
                raise RuntimeError("no room")
            start(thread)

        with mock.patch("threading.Thread.start", start_unless_late):
            with self.assertRaisesRegex(RuntimeError, "no room"):
                await asyncio.wait_for(self.run_workers(), support.WAIT)
        receivers = [each for each in threading.enumerate() if each.name == "wq-pods-receive"]
        self.assertEqual(receivers, [])

    @mock.patch("sys.unraisablehook", lambda _: None)  # Of the coroutines that never end.
    async def test_a_closed_loop_keeps_no_key(self):
        options = {"silence_limit": 0.1}  # Of which a third is the interval of the heartbeats.
        queue = self.server.queues["pods"]
        left = []

        async def work(client):
            left.append(await client.work("pods", **options).__aenter__())

        async def run(client):
            client.worker("pods", **options)(lambda job: asyncio.Event().wait())
            await client.run(signals=False)

        async def begin(worker, holds):
            left.append(wq.aio.Client(self.server.directory))
            left.append(asyncio.ensure_future(worker(left[0])))
            await self.until(lambda s: s.sessions and len(queue.processing) == holds, "the start")

        def work_and_close(*arguments):
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # Of the tasks that never end.
            loop.run_until_complete(begin(*arguments))
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

        for worker, holds in itertools.product((work, run), (0, 1)):
            with self.subTest(worker=worker.__name__, holds=holds):
                await self.pods.add("pods", ["a"][:holds])
                await asyncio.to_thread(work_and_close, worker, holds)
                await self.pods.add("pods", "a")  # Which an idle worker is given.
                await self.until(lambda s: not s.sessions, "the worker has ended")
                async with wq.aio.Client(self.server.directory) as client:

                    @client.worker("pods")
                    async def reconcile(job):
                        client.stop()

                    await asyncio.wait_for(client.run(signals=False), support.WAIT)
                self.assertFalse(queue.processing)
                queue.queued.clear()
                left.clear()
                gc.collect()

    async def test_a_session_of_a_broken_stream_raises(self):
        await self.pods.add("pods", "a", create=True)
        async with self.pods.work("pods") as session:
            jobs = session.__aiter__()
            job = await jobs.__anext__()
            self.server.break_streams()
            with self.assertRaisesRegex(wq.ShuttingDown, "the stream was broken"):
                await jobs.__anext__()
            self.assertTrue(job.lost)
            with self.assertRaises(wq.NotProcessing):
                await job.done()


if __name__ == "__main__":
    unittest.main()
