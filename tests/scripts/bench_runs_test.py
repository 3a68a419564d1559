#!/usr/bin/env python3
"""How scripts/bench_vs_peer.py runs pairs, what it tells its peers and their drivers, and what it says of a process; nothing is measured but
processes that do next to nothing.

    bench_runs_test.py REPOSITORY
"""
import contextlib
import ctypes
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

import bench_figures as figures  # noqa: E402
import bench_peers  # noqa: E402
import bench_process  # noqa: E402
import bench_vs_peer  # noqa: E402
import peer_common  # noqa: E402
import peer_llama_cpp  # noqa: E402
import peer_openvino  # noqa: E402


class Rounds(unittest.TestCase):
    def run_rounds(self, judge, wanted=2):
        said, kept, calls, clock = [], [], [], iter(range(1000))
        good = bench_vs_peer.run_rounds([("m", "decode"), ("m", "load")], wanted, lambda task, pair: calls.append((task[1], pair)) or [pair], judge,
                                        kept.append, said.append, lambda: next(clock) * 60)
        return good, said, kept, calls

    def test_rounds_go_over_all_tasks_and_tell_what_is_left(self):
        good, said, kept, calls = self.run_rounds(lambda runs: None)
        self.assertEqual(calls, [("decode", 1), ("load", 1), ("decode", 2), ("load", 2)])
        self.assertEqual(set(good.values()), {2})
        self.assertEqual(said[0], "pair 1 of 2, m, decode")
        self.assertEqual(said[1], "pair 1 of 2, m, load, 3 min left")
        self.assertEqual(len(kept), 4)

    def test_a_dropped_pair_is_kept_and_measured_again_but_not_for_ever(self):
        good, said, kept, calls = self.run_rounds(lambda runs: "noise" if runs[0] == 1 else None)
        self.assertEqual(calls.count(("decode", 3)), 1)
        self.assertEqual(set(good.values()), {2})
        good, _, kept, _ = self.run_rounds(lambda runs: "noise")
        self.assertEqual((set(good.values()), len(kept)), ({0}, 8))

    def bench_with(self, workloads, folder, answer, configs=None):
        """Its run_pair with processes that are only noted down: (command, environment, busy) each; answer(command) -> what one said."""
        class Args:
            tool, threads, models, peers = "llmrt", 2, ["m.gguf"], ["llama.cpp"]
            venv_llama_cpp = venv_openvino = "nowhere"

        Args.workloads, Args.configs = workloads, configs
        bench = bench_vs_peer.Bench(Args, folder)
        commands = []

        def measure(command, environment=None, busy=False):
            commands.append((" ".join(map(str, command)), environment, busy))
            return answer(command)

        def run_pair(workload, pair):
            measured, told = bench_process.measure, bench_vs_peer.tell
            bench_process.measure, bench_vs_peer.tell = measure, lambda *words: None
            try:
                return bench.run_pair(pathlib.Path("m.gguf"), workload, pair, lambda side: None)
            finally:
                bench_process.measure, bench_vs_peer.tell = measured, told

        return bench, commands, run_pair

    def test_sides_are_run_forwards_and_backwards(self):
        bench, commands, run_pair = self.bench_with(
            ["busy"], "nowhere", lambda command: {"error": "exit 1: no"} if command[-2:] == ["--repack", "0"] else {"figures": {}})
        self.assertEqual([[run["side"] for run in run_pair("busy", pair)] for pair in (1, 2)],
                         [["llmrt", "llama.cpp/as installed", "llama.cpp/repack off", "llama.cpp/2 MiB pages"],
                          ["llama.cpp/2 MiB pages", "llama.cpp/as installed", "llmrt"]])
        self.assertEqual(commands[0], ("llmrt bench m.gguf -p 0 -n 16 -r 1 --threads 2 --json", None, True))
        self.assertEqual(commands[3][1], {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})

    def test_long_contexts_are_run_with_flash_attention_on_and_off_too(self):
        bench, commands, run_pair = self.bench_with(["decode", "prefill8k"], "nowhere", lambda command: {"figures": {}})
        self.assertEqual([run["side"] for run in run_pair("prefill8k", 1)],
                         ["llmrt", *(f"llama.cpp/{config}" for config in ("as installed", "repack off", "2 MiB pages", "flash attention on",
                                                                          "flash attention off"))])
        self.assertTrue(commands[4][0].endswith("--flash-attn on") and commands[5][0].endswith("--flash-attn off"), commands)
        self.assertEqual(bench.sides_of("decode"), bench.sides[:4])
        self.assertEqual(len(bench.sides), 6)
        bench, _, _ = self.bench_with(["decode", "prefill8k"], "nowhere", None, ["repack off and 2 MiB pages"])
        self.assertEqual(bench.sides, ["llmrt", "llama.cpp/repack off and 2 MiB pages"])

    def test_the_packed_cache_is_written_once_before_it_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            def answer(command):
                if folder in map(str, command):
                    pathlib.Path(folder, "packed").write_text("")
                return {"figures": {}}

            _, commands, run_pair = self.bench_with(["load_cached"], folder, answer, ["repack off"])
            runs = run_pair("load_cached", 1) + run_pair("load_cached", 2)
        ours = f"llmrt bench m.gguf -p 16 -n 0 -r 1 --threads 2 --json --cache-dir {folder}"
        self.assertEqual([command == ours for command, _, _ in commands], [True, True, False, False, True])
        self.assertNotIn("cache", commands[2][0])
        self.assertEqual([run["side"] for run in runs], ["llmrt", "llama.cpp/repack off", "llama.cpp/repack off", "llmrt"])
        self.assertFalse(any("error" in run for run in runs))
        with tempfile.TemporaryDirectory() as folder:
            bench, _, run_pair = self.bench_with(["load_cached"], folder, lambda command: {"figures": {}})
            self.assertIn("no packed weights", run_pair("load_cached", 1)[0]["error"])
            self.assertEqual(run_pair("load_cached", 2), [])

    def test_without_options_the_default_workloads_are_run(self):
        self.assertEqual(figures.DEFAULT_WORKLOADS, "prefill512 prefill8k decode decode1t batch2 batch4 batch8 decode8k busy load".split())


class Texts(unittest.TestCase):
    def judge(self, ours, theirs, gaps, n_prompt=3):
        left = {"token_ids": ours, "usage": {"prompt_tokens": 3}}
        right = {"token_ids": theirs, "gaps": gaps, "prompt_tokens": n_prompt}
        return bench_peers.complaint_about(bench_peers.compared(left, right), left, right)

    def test_texts_may_part_where_two_logits_are_nearly_equal(self):
        self.assertIsNone(self.judge([1, 2, 3], [1, 2, 3], [5, 5, 5]))
        self.assertIsNone(self.judge([1, 2, 3], [1, 9, 3], [5, 0.1, 5]))
        self.assertIn("leads by 5.00", self.judge([1, 2, 3], [1, 9, 3], [5, 5, 5]))
        self.assertIn("4 with the peer", self.judge([1, 2, 3], [1, 2, 3], [5, 5, 5], 4))
        self.assertIn("only 1", self.judge([1, 2], [1, 3], None))

    def test_the_peers_get_the_tokens_of_llmrt_bench(self):
        ids = peer_common.some_tokens(1000, 151936)
        self.assertEqual(len(ids), 1000)
        self.assertTrue(all(1000 <= i < 40000 for i in ids))
        self.assertEqual(peer_common.some_tokens(3, 151936), [4278, 6231, 16753])


class Peers(unittest.TestCase):
    def test_slow_flags_are_only_for_processors_with_tiles(self):
        self.assertIn("-fno-dse", bench_peers.llama_cpp_build(["avx2", "amx_tile"])["CXXFLAGS"])
        self.assertEqual(bench_peers.llama_cpp_build(["avx2", "avx512f"])["CXXFLAGS"], "-w")
        self.assertIsInstance(bench_peers.processor_flags(), list)

    def test_llama_cpp_gets_its_parameters_or_the_driver_ends(self):
        class Params(ctypes.Structure):
            _fields_ = [(name, ctypes.c_int) for name in "n_gpu_layers use_extra_bufts load_mode n_ctx n_batch n_ubatch n_seq_max n_threads "
                        "n_threads_batch type_k type_v flash_attn_type swa_full".split()]

        args = types.SimpleNamespace(repack=0, b=2, threads=3, flash_attn="off")
        params = peer_llama_cpp.model_params(Params(load_mode=-1, use_extra_bufts=1), args, {})
        self.assertEqual((params.load_mode, params.use_extra_bufts), (-1, 0))
        self.assertEqual(peer_llama_cpp.model_params(Params(load_mode=-1), args, bench_peers.HUGE_PAGES).load_mode, 0)
        for word, number in (("auto", -1), ("off", 0), ("on", 1)):
            args.flash_attn = word
            params = peer_llama_cpp.context_params(Params(), args, 640)
            self.assertEqual((params.flash_attn_type, params.n_ctx, params.n_seq_max, params.type_v), (number, 640, 2, 1))
        with self.assertRaisesRegex(SystemExit, "Params of this llama.cpp has no use_mmap"):
            peer_llama_cpp.put(Params(), use_mmap=0)

    def test_openvino_counts_the_sequences_itself(self):
        class Metrics:
            get_ttft, get_tpot = (lambda self: types.SimpleNamespace(mean=80.0)), (lambda self: types.SimpleNamespace(mean=5.0))

        pipeline = types.SimpleNamespace(generate=lambda prompts, n: types.SimpleNamespace(perf_metrics=Metrics()), genai=None, load_ms=1000.0,
                                         tokens_computed=1)
        args = peer_common.arguments("").parse_args(["m.gguf", "-p", "16", "-n", "4", "-b", "8"])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            peer_openvino.measure(args, pipeline)
        got = json.loads(said.getvalue())
        self.assertEqual((got["decode_tps"]["median"], got["prefill_tps"]["median"]), (200, 200))
        self.assertEqual((got["load_ms"]["median"], got["load_to_first_token_ms"]["median"]), (1000, 1080))


class Process(unittest.TestCase):
    def test_a_process_is_measured_or_its_error_told(self):
        run = bench_process.measure([sys.executable, "-c", "print('{\"a\": 1}')"])
        self.assertEqual(run["figures"], {"a": 1})
        self.assertTrue(run["cpu_s"] > 0 and run["peak_rss_bytes"] > 10**6 and run["switches"] >= 0)
        self.assertTrue(0 <= run["steal"] <= 1 and 0 <= run["foreign"] <= 1)
        self.assertEqual(bench_process.measure([sys.executable, "-c", "import sys; sys.exit('bad file')"])["error"], "exit 1: bad file")
        self.assertIn("no JSON", bench_process.measure([sys.executable, "-c", "print('x')"])["error"])

    def test_others_are_what_was_neither_idle_nor_stolen_nor_ours(self):
        before = bench_process.ticks_of("cpu  100 10 20 1000 30 1 2 7 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
        self.assertEqual(before, (133, 7, 1170))
        after = bench_process.Ticks(before.busy + 122, before.stolen + 8, before.all + 400)
        got = bench_process.shares(before, after, 1.0, 2, 100)  # 100 ticks are ours, and one of each CPU may be
        self.assertEqual((got["steal"], got["foreign"]), (8 / 400, 20 / 400))
        self.assertEqual(bench_process.shares(before, after, 1.3, 2, 100)["foreign"], 0)

    def test_a_busy_neighbour_is_none_of_the_others(self):
        ours = []

        def shares(before, after, own_s, n_cpus, ticks_a_second):
            ours.append(own_s)
            return {}

        kept, bench_process.shares = bench_process.shares, shares
        try:
            sleeper = [sys.executable, "-c", "import time; time.sleep(0.5); print('{}')"]
            for busy in (False, True):
                run = bench_process.measure(sleeper, busy=busy)
                ours[-1] -= run["cpu_s"]
        finally:
            bench_process.shares = kept
        self.assertEqual(ours[0], 0)
        self.assertGreater(ours[1], 0.05)


unittest.main()
