#!/usr/bin/env python3
"""Statistics, dropped pairs, ceilings, tables and plots of scripts/bench_vs_peer.py; nothing is measured.

    bench_test.py REPOSITORY

tests/data/bench/figures.json: two models, two peers, workloads in three pairs, one of them stolen from.
"""
import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

import bench_figures as figures  # noqa: E402
import bench_plots as plots  # noqa: E402
import bench_report  # noqa: E402
import bench_vs_peer  # noqa: E402

DOC = json.loads((ROOT / "tests/data/bench/figures.json").read_text())
BIG, SMALL = "big.gguf", "small.gguf"


def row(model, workload, doc=DOC):
    return next(r for r in figures.rows_of(doc) if (r.model, r.workload.key) == (model, workload))


class Statistics(unittest.TestCase):
    def test_quartiles_are_those_of_the_sample(self):
        self.assertEqual(figures.spread([4, 1, 3, 2, 5]), figures.Spread(3, 2, 4, 5))
        self.assertEqual(figures.spread([7]), figures.Spread(7, 7, 7, 1))
        self.assertIsNone(figures.spread([]))

    def test_a_pair_beside_others_does_not_count_and_switches_say_nothing(self):
        run = {"side": "llmrt", "workload": "decode", "steal": 0.0, "foreign": 0.04, "switches": 100000, "cpu_s": 2.0}
        bounds = {"steal": 0.02, "foreign": 0.05}
        self.assertIsNone(figures.why_dropped([run], bounds))
        self.assertIn("3.0 % of the time was stolen", figures.why_dropped([run, {**run, "steal": 0.03}], bounds))
        self.assertEqual(figures.why_dropped([{**run, "foreign": 0.06}], bounds), "llmrt: others had 6.0 % of the CPUs' time")
        self.assertIsNotNone(figures.why_dropped([{**run, "workload": "busy", "foreign": 0.06}], bounds))
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
        self.assertEqual(figures.ceiling(DOC, ("read_",), 2), (25, "read_2m"))
        self.assertEqual(figures.ceiling(DOC, ("read_",), 1), (16, "read_2m"))
        self.assertEqual(figures.ceiling(DOC, ("read_",), 8), (25, "read_2m"))
        self.assertIsNone(figures.ceiling(DOC, ("bf16_",), 2))

    def test_decoding_is_bound_by_memory_then_by_arithmetic(self):
        def limit(doc, workload, value, loop, *kv):
            got = figures.limit_of(doc, BIG, workload, *kv)
            self.assertAlmostEqual(got.value, value)
            self.assertEqual(got.loop, loop)

        work = DOC["models"][BIG]
        limit(DOC, "decode", 25e9 / work["decode_bytes"], "read_2m")
        limit(DOC, "decode1t", 16e9 / work["decode_bytes"], "read_2m")
        limit(DOC, "batch4", 4 * 25e9 / (work["decode_bytes"] + 25e6), "read_2m", 25e6)
        slow = copy.deepcopy(DOC)
        slow["models"][BIG]["decode_macs"] = 10**12
        limit(slow, "decode", 700e9 / 2e12, "int8_maddubs_paddw_ymm")
        limit(DOC, "prefill512", 700e9 / (2 * work["prefill_macs"]), "int8_maddubs_paddw_ymm")

    def test_int16_sums_are_a_ceiling_of_small_codes_only_and_tiles_one_of_all(self):
        def loop(model, *more, integers=True):
            doc = copy.deepcopy(DOC)
            doc["models"][model]["integers"] = integers
            doc["ceilings"] += [{"name": name, "threads": 2, "unit": "GOPS", "best": best, "median": best} for name, best in more]
            return figures.limit_of(doc, model, "prefill512").loop

        self.assertEqual(loop(BIG), "int8_maddubs_paddw_ymm")
        self.assertEqual(loop(SMALL), "int8_maddubs_ymm")
        vnni, tiles, bf16 = ("int8_vnni_zmm", 1400), ("int8_amx", 12000), ("bf16_amx", 6000)
        for model in (BIG, SMALL):
            self.assertEqual(loop(model, vnni), "int8_vnni_zmm")
            self.assertEqual(loop(model, tiles, vnni, bf16), "int8_amx")
            self.assertEqual(loop(model, tiles, vnni, bf16, integers=False), "bf16_amx")
            self.assertEqual(loop(model, integers=False), "fma_ymm")

    def test_loading_has_to_read_and_what_is_mapped_is_read_by_the_first_token(self):
        self.assertEqual(figures.limit_of(DOC, BIG, "load"), (1e9 / 25e9 * 1e3, "read_2m"))
        self.assertIsNone(figures.limit_of(DOC, BIG, "load_cached"))
        work = DOC["models"][BIG]
        half = {**DOC, "models": {BIG: {**work, "decode_bytes": 5 * 10**8, "prefill_macs": 10**7}}}
        self.assertEqual(figures.limit_of(half, BIG, "load_to_first_token").value, 40)
        self.assertEqual(figures.limit_of(half, BIG, "load_cached_to_first_token").value, 20)
        self.assertEqual(figures.limit_of(DOC, BIG, "load_to_first_token"), (16 * 2 * 9e8 / 700e9 * 1e3, "int8_maddubs_paddw_ymm"))

    def test_work_is_counted_from_the_tensors(self):
        def tensor(name, shape, size, kind="Q4_K"):
            return {"name": name, "shape": shape, "bytes": size, "type": kind}

        tensors = [tensor("token_embd.weight", [4, 10], 20), tensor("blk.0.attn_q.weight", [4, 8], 16), tensor("blk.0.norm.weight", [4], 16, "F32"),
                   tensor("blk.0.ffn_up_exps.weight", [4, 6, 8], 96)]
        inspect = {"model": {"arch": "a"}, "metadata": {"a.expert_count": 8, "a.expert_used_count": 2}, "tensors": tensors}
        got = figures.work_of(inspect, 1000)
        want = {"file_bytes": 1000, "prefill_macs": 32 + 48, "decode_macs": 32 + 48 + 40, "decode_bytes": 16 + 16 + 24 + 20, "integers": True,
                "narrow": True}
        self.assertEqual(got, want)
        untied = {**inspect, "tensors": [*tensors, tensor("output.weight", [4, 10], 30)]}
        self.assertEqual(figures.work_of(untied, 0)["decode_bytes"], 16 + 16 + 24 + 30)
        wide = {**inspect, "tensors": [{**t, "type": "Q8_0" if "exps" in t["name"] else t["type"]} for t in tensors]}
        self.assertFalse(figures.work_of(wide, 0)["narrow"])
        floats = {**inspect, "tensors": [tensor("blk.0.attn_q.weight", [4, 8], 64, "BF16")]}
        self.assertFalse(figures.work_of(floats, 0)["integers"])

    def test_google_benchmark_gives_the_best_of_its_repetitions(self):
        def one(kind, value):
            return {"name": "read_2m/min_time:0.100/repeats:5/real_time/threads:2", "run_type": kind, "threads": 2, "GB/s": value}

        got = figures.ceilings_of({"benchmarks": [one("iteration", 20.0), one("iteration", 24.0), one("iteration", 22.0), one("aggregate", 99.0)]})
        self.assertEqual(got, [{"name": "read_2m", "threads": 2, "unit": "GB/s", "best": 24.0, "median": 22.0}])


class Report(unittest.TestCase):
    def test_the_report_is_the_same_each_time_and_holds_every_row(self):
        text, files = bench_report.report(DOC, "plots")
        self.assertEqual((text, files), bench_report.report(copy.deepcopy(DOC), "plots"))
        self.assertIn("| big.gguf | decode | tokens/s | 22.0 [21.0 to 23.0] | 89 % of read_2m | 14.0 [13.0 to 15.0], 2 MiB pages | "
                      "1.62 [1.44 to 1.81] | 2 of 3 |", text)
        self.assertIn("| big.gguf | load, warm | ms | 500 [500 to 500] |", text)
        self.assertIn("- small.gguf, decode, against llama.cpp: 0.800 [0.800 to 0.800]", text)
        self.assertIn("| big.gguf | 1,000 MB | 1,120 MB | 1,050 MB | 2,000 MB |", text)
        self.assertIn("big.gguf: 24 of 24 (llama.cpp)", text)
        self.assertIn("- small.gguf, openvino/as installed: cannot load it", text)
        self.assertIn("Fewer than 7 pairs", text)
        self.assertIn("KV cache: llmrt bf16, llama.cpp f16. Load average of a minute: 0.250 before all, 0.500 [0.500 to 0.500] before a run", text)
        self.assertIn("more than 5 % of it (/proc/stat", text)
        self.assertNotIn("—", text)

    def test_loads_and_long_contexts_tell_each_configuration(self):
        text, _ = bench_report.report(DOC, "plots")
        for line in ("| big.gguf | load, packed cache | 100 [100 to 100] | llama.cpp, repack off | 150 [150 to 150] | 1.50 [1.50 to 1.50] |",
                     "| big.gguf | load, packed cache | 100 [100 to 100] | llama.cpp, as installed | 1000 [1000 to 1000] | 10.0 [10.0 to 10.0] |",
                     "| big.gguf | load, packed cache, and the first token of 16 | 400 [400 to 400] | llama.cpp, repack off | 800 [800 to 800] |",
                     "| big.gguf | prefill of 8,000 | 80.0 [80.0 to 80.0] | llama.cpp, flash attention off | 40.0 [40.0 to 40.0] | 2.00 "):
            self.assertIn(line, text)
        self.assertNotIn("| big.gguf | decode | 22.0 [21.0 to 23.0] | llama.cpp, as installed", text)
        self.assertEqual(row(BIG, "prefill8k").versus[0].config, "flash attention off")

    def test_documents_of_one_machine_are_put_together(self):
        def part(workload, **changed):
            return {**copy.deepcopy(DOC), "runs": [r for r in DOC["runs"] if r["workload"] in workload], **changed}

        rest = ("prefill128", "prefill512", "prefill8k", "batch4", "busy")
        parts = [part("decode"), part(rest, date="2026-01-09", load_average=3.0, ceilings=[]),
                 part(("load", "load_cached", "load_cached_to_first_token"), texts=[{**DOC["texts"][0], "model": SMALL}])]
        whole = figures.merged(parts)
        self.assertEqual(figures.rows_of(whole), figures.rows_of(DOC))
        self.assertEqual((whole["date"], whole["load_average"], whole["ceilings"]), ("2026-01-02 to 2026-01-09", 3.0, DOC["ceilings"]))
        self.assertEqual([t["model"] for t in whole["texts"]], [BIG, SMALL])
        self.assertEqual(figures.merged([DOC]), DOC)
        twice = figures.merged([DOC, DOC])
        (decode,) = [r for r in figures.rows_of(twice) if (r.model, r.workload.key) == (BIG, "decode")]
        self.assertEqual((decode.pairs, decode.dropped, decode.ours.median), (4, 2, 22))
        self.assertEqual(figures.merged([DOC, part((), bounds={"steal": 0.01, "foreign": 0.5})])["bounds"], {"steal": 0.01, "foreign": 0.05})
        self.assertEqual(figures.merged([DOC, part((), sides=["llmrt", "x/y"])])["sides"], [*DOC["sides"], "x/y"])
        for changed, word in (({"threads": 4}, "threads 2, and 4"), ({"machine": {**DOC["machine"], "isa": "amx_int8"}}, "kernels avx2"),
                              ({"versions": {"llmrt": "0.2.0"}}, "version of llmrt"),
                              ({"models": {BIG: {**DOC["models"][BIG], "file_bytes": 7}}}, "bytes of big.gguf")):
            with self.assertRaisesRegex(ValueError, word):
                figures.merged([DOC, part((), **changed)])

    def test_the_page_is_written_from_several_files(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page")
            page.write_text(f"before\n{bench_report.BEGIN}\nold\n{bench_report.END}\nafter\n")
            for name, keep in (("a.json", "decode"), ("b.json", "load")):
                pathlib.Path(folder, name).write_text(json.dumps({**DOC, "runs": [r for r in DOC["runs"] if r["workload"] == keep]}))
            pathlib.Path(folder, "old.json").write_text(json.dumps({**DOC, "bounds": {"steal": 0.02, "switches_per_cpu_s": 100}}))
            words = ["--page", str(page), "--plots", f"{folder}/plots"]
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(bench_vs_peer.main(["--report", f"{folder}/a.json", f"{folder}/b.json", *words]), 0)
                text = page.read_text()
                with self.assertRaisesRegex(SystemExit, "old.json was measured by an older script"):
                    bench_vs_peer.main(["--report", f"{folder}/old.json", *words])
            self.assertTrue("| big.gguf | decode | tokens/s |" in text and "| big.gguf | load, warm | ms |" in text and text.endswith("after\n"))
            self.assertEqual([f.name for f in pathlib.Path(folder, "plots").iterdir()], ["against-llama-cpp.svg"])

    def test_the_plots_are_well_formed_and_named_in_the_page(self):
        text, files = bench_report.report(DOC, "plots")
        self.assertEqual(sorted(files), ["against-llama-cpp.svg", "batch-big.svg", "prefill-big.svg", "prefill-rate-big.svg"])
        for name, svg in files.items():
            self.assertIn(f"(plots/{name})", text)
            self.assertTrue(xml.etree.ElementTree.fromstring(svg).tag.endswith("svg"))

    def test_prompts_are_plotted_at_equal_steps_of_doubling(self):
        s = figures.Spread(10, 9, 11, 3)
        svg = plots.lines("t", "x", "y", [("a", [(128, s), (512, s), (2048, s)], False)], doubling=True)
        at = [float(c.get("cx")) for c in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}circle")]
        self.assertEqual(at, [70, 275, 480])
        self.assertTrue(all(f">{x}<" in svg for x in (128, 512, 2048)))
        _, files = bench_report.report(DOC, "plots")
        self.assertTrue(all(f">{x}<" in files["prefill-rate-big.svg"] for x in (128, 512, 8000)))

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
