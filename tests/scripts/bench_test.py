#!/usr/bin/env python3
"""Statistics, dropped pairs, ceilings, tables and plots of scripts/bench_vs_peer.py; nothing is measured.

    bench_test.py REPOSITORY

tests/data/bench/figures.json: two models, two peers, workloads in three pairs, one of them stolen from.
"""
import copy
import json
import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

import bench_figures as figures  # noqa: E402
import bench_plots as plots  # noqa: E402
import bench_process  # noqa: E402
import bench_report  # noqa: E402
import bench_vs_peer  # noqa: E402
import peer_common  # noqa: E402

DOC = json.loads((ROOT / "tests/data/bench/figures.json").read_text())
BIG, SMALL = "big.gguf", "small.gguf"


def row(model, workload, doc=DOC):
    return next(r for r in figures.rows_of(doc) if (r.model, r.workload.key) == (model, workload))


class Statistics(unittest.TestCase):
    def test_quartiles_are_those_of_the_sample(self):
        self.assertEqual(figures.spread([4, 1, 3, 2, 5]), figures.Spread(3, 2, 4, 5))
        self.assertEqual(figures.spread([7]), figures.Spread(7, 7, 7, 1))
        self.assertIsNone(figures.spread([]))

    def test_a_pair_with_stolen_time_or_many_switches_does_not_count(self):
        run = {"side": "llmrt", "workload": "decode", "steal": 0.0, "switches": 10, "cpu_s": 2.0}
        bounds = {"steal": 0.02, "switches_per_cpu_s": 100}
        self.assertIsNone(figures.why_dropped([run], bounds))
        self.assertIn("stolen", figures.why_dropped([run, {**run, "steal": 0.03}], bounds))
        crowded = {**run, "switches": 201}
        self.assertIn("switches", figures.why_dropped([crowded], bounds))
        self.assertIsNone(figures.why_dropped([{**crowded, "workload": "busy"}], bounds))
        self.assertIsNone(figures.why_dropped([{"side": "x", "workload": "decode", "error": "no"}], bounds))

    def test_the_ratio_is_pairwise_against_the_best_configuration_of_each_pair(self):
        decode = row(BIG, "decode")
        self.assertEqual((decode.pairs, decode.dropped), (2, 1))
        (other,) = decode.versus
        # llmrt 20 and 24; llama.cpp 10 and 12 as installed, 16 and 8 with large pages
        self.assertEqual(decode.ours.median, 22)
        self.assertEqual((other.value.median, other.ratio.median), (14, (20 / 16 + 24 / 12) / 2))
        self.assertEqual(other.config, "2 MiB pages")

    def test_where_less_is_better_the_ratio_is_turned_round(self):
        load = row(BIG, "load")
        self.assertEqual(load.versus[0].ratio.median, 1000 / 500)

    def test_cpu_time_per_token_leaves_out_loading(self):
        # 2 of 4 s are loading; 2 * 65 tokens in all
        got = figures.cpu_ms_per_token(DOC, BIG, "decode", "llmrt")
        self.assertAlmostEqual(got.median, 2000 / 130)
        self.assertIsNone(figures.cpu_ms_per_token(DOC, SMALL, "decode", "llmrt"))
        self.assertIsNone(figures.cpu_ms_per_token(DOC, BIG, "load", "llmrt"))


class Ceilings(unittest.TestCase):
    def test_the_best_loop_with_as_many_threads_is_the_ceiling(self):
        self.assertEqual(figures.ceiling(DOC, ("read_",), 2), 25)
        self.assertEqual(figures.ceiling(DOC, ("read_",), 1), 16)
        self.assertEqual(figures.ceiling(DOC, ("read_",), 8), 25)
        self.assertIsNone(figures.ceiling(DOC, ("bf16_",), 2))

    def test_decoding_is_bound_by_memory_then_by_arithmetic(self):
        work = DOC["models"][BIG]
        self.assertAlmostEqual(figures.limit_of(DOC, BIG, "decode"), 25e9 / work["decode_bytes"])
        self.assertAlmostEqual(figures.limit_of(DOC, BIG, "decode1t"), 16e9 / work["decode_bytes"])
        self.assertAlmostEqual(figures.limit_of(DOC, BIG, "batch4", 25e6), 4 * 25e9 / (work["decode_bytes"] + 25e6))
        slow = copy.deepcopy(DOC)
        slow["models"][BIG]["decode_macs"] = 10**12
        self.assertAlmostEqual(figures.limit_of(slow, BIG, "decode"), 400e9 / 2e12)
        self.assertAlmostEqual(figures.limit_of(DOC, BIG, "prefill512"), 400e9 / (2 * work["prefill_macs"]))

    def test_work_is_counted_from_the_tensors(self):
        def tensor(name, shape, size, kind="Q4_K"):
            return {"name": name, "shape": shape, "bytes": size, "type": kind}

        tensors = [tensor("token_embd.weight", [4, 10], 20), tensor("blk.0.attn_q.weight", [4, 8], 16), tensor("blk.0.norm.weight", [4], 16, "F32"),
                   tensor("blk.0.ffn_up_exps.weight", [4, 6, 8], 96)]
        inspect = {"model": {"arch": "a"}, "metadata": {"a.expert_count": 8, "a.expert_used_count": 2}, "tensors": tensors}
        got = figures.work_of(inspect, 1000)
        want = {"file_bytes": 1000, "prefill_macs": 32 + 48, "decode_macs": 32 + 48 + 40, "decode_bytes": 16 + 16 + 24 + 20, "integers": True}
        self.assertEqual(got, want)
        untied = {**inspect, "tensors": [*tensors, tensor("output.weight", [4, 10], 30)]}
        self.assertEqual(figures.work_of(untied, 0)["decode_bytes"], 16 + 16 + 24 + 30)
        floats = {**inspect, "tensors": [tensor("blk.0.attn_q.weight", [4, 8], 64, "BF16")]}
        self.assertFalse(figures.work_of(floats, 0)["integers"])

    def test_google_benchmark_gives_the_best_of_its_repetitions(self):
        def one(kind, value):
            return {"name": "read_2m/min_time:0.100/repeats:5/real_time/threads:2", "run_type": kind, "threads": 2, "GB/s": value}

        got = figures.ceilings_of({"benchmarks": [one("iteration", 20.0), one("iteration", 24.0), one("iteration", 22.0), one("aggregate", 99.0)]})
        self.assertEqual(got, [{"name": "read_2m", "threads": 2, "unit": "GB/s", "best": 24.0, "median": 22.0}])


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

    def test_sides_are_run_forwards_and_backwards(self):
        class Args:
            tool, threads, models, peers, configs = "llmrt", 2, ["m.gguf"], ["llama.cpp"], ["as installed", "2 MiB pages"]
            venv_llama_cpp = venv_openvino = "nowhere"

        bench = bench_vs_peer.Bench(Args)
        commands = []
        measured = bench_process.measure

        def fake(command, environment=None, busy=False):
            commands.append((" ".join(map(str, command)), environment, busy))
            failed = environment and "as installed" not in command
            return {"error": "exit 1: no"} if failed else {"figures": {"decode_tps": {"median": 1}}}

        bench_process.measure = fake
        try:
            pairs = [bench.run_pair(pathlib.Path("m.gguf"), "busy", pair, lambda side: None) for pair in (1, 2)]
        finally:
            bench_process.measure = measured
        self.assertEqual([[run["side"] for run in runs] for runs in pairs],
                         [["llmrt", "llama.cpp/as installed", "llama.cpp/2 MiB pages"], ["llama.cpp/as installed", "llmrt"]])
        self.assertEqual(commands[0], ("llmrt bench m.gguf -p 0 -n 16 -r 1 --threads 2 --json", None, True))
        self.assertEqual(commands[2][1], {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})


class Texts(unittest.TestCase):
    def judge(self, ours, theirs, gaps, n_prompt=3):
        left = {"token_ids": ours, "usage": {"prompt_tokens": 3}}
        right = {"token_ids": theirs, "gaps": gaps, "prompt_tokens": n_prompt}
        return bench_vs_peer.complaint_about(bench_vs_peer.compared(left, right), left, right)

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


class Process(unittest.TestCase):
    def test_a_process_is_measured_or_its_error_told(self):
        run = bench_process.measure([sys.executable, "-c", "print('{\"a\": 1}')"])
        self.assertEqual(run["figures"], {"a": 1})
        self.assertTrue(run["cpu_s"] > 0 and run["peak_rss_bytes"] > 10**6 and run["switches"] >= 0 and 0 <= run["steal"] <= 1)
        self.assertEqual(bench_process.measure([sys.executable, "-c", "import sys; sys.exit('bad file')"])["error"], "exit 1: bad file")
        self.assertIn("no JSON", bench_process.measure([sys.executable, "-c", "print('x')"])["error"])


class Report(unittest.TestCase):
    def test_the_report_is_the_same_each_time_and_holds_every_row(self):
        text, files = bench_report.report(DOC, "plots")
        self.assertEqual((text, files), bench_report.report(copy.deepcopy(DOC), "plots"))
        self.assertIn("| big.gguf | decode | tokens/s | 22.0 [21.0 to 23.0] | 89 % | 14.0 [13.0 to 15.0], 2 MiB pages | 1.62 [1.44 to 1.81] | 2 of 3 |",
                      text)
        self.assertIn("| big.gguf | load, warm | ms | 500 [500 to 500] |", text)
        self.assertIn("- small.gguf, decode, against llama.cpp: 0.800 [0.800 to 0.800]", text)
        self.assertIn("| big.gguf | 1,000 MB | 1,120 MB | 1,050 MB | 2,000 MB |", text)
        self.assertIn("big.gguf: 24 of 24 (llama.cpp)", text)
        self.assertIn("- small.gguf, openvino/as installed: cannot load it", text)
        self.assertIn("Fewer than 7 pairs", text)
        self.assertNotIn("—", text)

    def test_the_plots_are_well_formed_and_named_in_the_page(self):
        text, files = bench_report.report(DOC, "plots")
        self.assertEqual(sorted(files), ["against-llama-cpp.svg", "batch-big.svg", "prefill-big.svg"])
        for name, svg in files.items():
            self.assertIn(f"(plots/{name})", text)
            self.assertTrue(xml.etree.ElementTree.fromstring(svg).tag.endswith("svg"))

    def test_only_what_lies_between_the_markers_is_replaced(self):
        page = f"before\n{bench_report.BEGIN}\nold\n{bench_report.END}\nafter\n"
        once = bench_report.put_between_markers(page, "new\n")
        self.assertTrue(once.startswith("before\n") and once.endswith("\nafter\n") and "old" not in once and "new" in once)
        self.assertEqual(bench_report.put_between_markers(once, "new\n"), once)
        with self.assertRaises(ValueError):
            bench_report.put_between_markers("no markers", "new")
        the_page = (ROOT / "docs/PERFORMANCE.md").read_text()
        self.assertIn("new", bench_report.put_between_markers(the_page, "new\n"))

    def test_an_empty_document_is_a_page_too(self):
        text, files = bench_report.report({**DOC, "runs": []}, "plots")
        self.assertIn("No pair counts yet.", text)
        self.assertEqual(files, {})

    def test_numbers_have_three_digits(self):
        self.assertEqual([plots.number(x) for x in (0, 0.1234, 1.234, 12.34, 1234.5)], ["0", "0.123", "1.23", "12.3", "1234"])
        self.assertEqual(plots.ticks(23), [0, 5, 10, 15, 20, 25])
        self.assertEqual(plots.ticks(0)[0], 0)


unittest.main()
