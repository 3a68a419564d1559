#!/usr/bin/env python3
"""llmrt beside llama.cpp (and OpenVINO GenAI, where it reads the file): the same files, the same threads, pairs of runs in turn.

    scripts/bench_vs_peer.py MODEL.gguf... --out figures.json             measures
    scripts/bench_vs_peer.py --report figures.json [more.json...]         tables and plots of docs/PERFORMANCE.md from them

The release preset must be built, with `cmake --build --preset bench` for the ceilings. A peer is installed from PyPI into its folder
when it is not there (llama-cpp-python is compiled for this processor: a quarter of an hour on two cores).

Each pair runs llmrt and every configuration of the peers, one process each, in turn forwards and backwards (A, B, B, A). Before, both
continue a text greedily: tokens must be equal until two logits are nearly so. Pairs during which the machine was somebody else's are
dropped and measured again. Ctrl-C writes what is done; the file is whole after each pair.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_figures as figures
import bench_peers
import bench_process
import bench_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT, TEXT_TOKENS = "Once upon a time, in a small village by the sea, there lived", 24


def tell(*words):
    print("bench_vs_peer:", *words, file=sys.stderr, flush=True)


def output_of(command, **kwargs):
    """Standard output of a command that must not fail."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        sys.exit(f"bench_vs_peer: {' '.join(map(str, command))}: exit {done.returncode}: {last[0]}")
    return done.stdout


class Bench:
    def __init__(self, args, cache_folder):
        self.tool, self.threads, self.models = args.tool, args.threads, [pathlib.Path(m) for m in args.models]
        self.cache_folder, self.cached = pathlib.Path(cache_folder), set()  # models whose packed weights are there
        self.chosen = args.configs
        self.peers = [bench_peers.Peer(name, getattr(args, "venv_" + name.replace(".", "_"))) for name in args.peers]
        self.sides = list(dict.fromkeys(side for w in args.workloads for side in self.sides_of(w)))
        self.unable = {}  # (model, side) or (model, workload, side) -> why

    def sides_of(self, workload):
        return [figures.OURS, *(side for p in self.peers for side in p.sides(self.chosen, workload))]

    def check_text(self, model):
        """Compared texts of one model; a peer that says something else is left out, with the reason told."""
        words = ["--threads", str(self.threads), "-n", str(TEXT_TOKENS)]
        ours = json.loads(output_of([self.tool, "run", model, "--raw", "-p", TEXT, "--temp", "0", "--ignore-eos", "--json", *words]))
        result = []
        for peer in self.peers:
            command, environment = peer.command("as installed", model, ["--text", TEXT, *words])
            said = bench_process.measure(command, environment)
            why = said.get("error")
            if not why:
                text = {"model": model.name, "peer": peer.name, **bench_peers.compared(ours, said["figures"])}
                result.append(text)
                why = bench_peers.complaint_about(text, ours, said["figures"])
                tell(f"{model.name}, {peer.name}: {text['equal']} of {text['of']} greedy tokens are equal")
            if why:
                tell(f"{model.name} is not measured with {peer.name}: {why}")
                self.unable.update({(model.name, side): why for side in peer.sides(self.chosen)})
        return result

    def fill_cache(self, model, command):
        """Writes the model's packed weights, if they are not there; why that failed, as a run's result, or None."""
        if model in self.cached:
            return None
        tell(f"{model.name}: a load that is not measured writes the packed weights")
        before = len(list(self.cache_folder.rglob("*")))
        run = bench_process.measure(command)
        os.sync()  # what is still to be written would be written beside the next run
        if "error" not in run and len(list(self.cache_folder.rglob("*"))) == before:
            run["error"] = f"llmrt has written no packed weights into {self.cache_folder}"
        if "error" in run:
            return run
        self.cached.add(model)
        return None

    def run_side(self, model, workload, side):
        w = figures.BY_KEY[workload]
        words = [*w.args.split(), "-r", "1", "--threads", str(w.threads or self.threads), "--json"]
        if side == figures.OURS:
            command = [self.tool, "bench", model, *words, *(["--cache-dir", self.cache_folder] if w.cached else [])]
            failed = self.fill_cache(model, command) if w.cached else None
            return failed or bench_process.measure(command, busy=w.busy)
        name, config = side.split("/", 1)
        command, environment = next(p for p in self.peers if p.name == name).command(config, model, words)
        return bench_process.measure(command, environment, w.busy)

    def run_pair(self, model, workload, pair, tell_side):
        """The runs of one pair: forwards in odd ones, backwards in even ones."""
        runs = []
        if (model.name, workload, figures.OURS) in self.unable:
            return runs
        sides = self.sides_of(workload)
        for side in sides if pair % 2 else reversed(sides):
            if (model.name, side) in self.unable or (model.name, workload, side) in self.unable:
                continue
            tell_side(side)
            run = {"model": model.name, "workload": workload, "pair": pair, "side": side, **self.run_side(model, workload, side)}
            if "error" in run:
                self.unable[model.name, workload, side] = run["error"]
                tell(f"{model.name}, {workload}, {side}: {run['error']}")
            runs.append(run)
        return runs


def minutes_left(tasks, wanted, good, spent):
    """What the remaining pairs will take, by those already done; None: nothing is known yet."""
    known = [spent[t][0] / spent[t][1] for t in tasks if spent[t][1]]
    if not known:
        return None
    mean = sum(known) / len(known)
    return sum(max(wanted - good[t], 0) * (spent[t][0] / spent[t][1] if spent[t][1] else mean) for t in tasks) / 60


def run_rounds(tasks, wanted, run_pair, judge, keep, say, clock=time.monotonic):
    """Round after round over all tasks, so that a bad hour hits all alike, until each has `wanted` pairs that count or twice as many tries.

    run_pair(task, pair) -> runs; judge(runs) -> None or why the pair does not count; keep(runs) after each; say(text)."""
    good, tries = dict.fromkeys(tasks, 0), dict.fromkeys(tasks, 0)
    spent = {t: [0.0, 0] for t in tasks}
    while any(good[t] < wanted and tries[t] < 2 * wanted for t in tasks):
        for task in tasks:
            if good[task] >= wanted or tries[task] >= 2 * wanted:
                continue
            left = minutes_left(tasks, wanted, good, spent)
            tries[task] += 1
            begin = clock()
            say(f"pair {good[task] + 1} of {wanted}, {', '.join(task)}" + (f", {left:.0f} min left" if left is not None else ""))
            runs = run_pair(task, tries[task])
            spent[task][0] += clock() - begin
            spent[task][1] += 1
            why = judge(runs)
            if why is None:
                good[task] += 1
            else:
                say(f"dropped: {why}")
            keep(runs)
    return good


def measure_ceilings(args, doctor):
    if not pathlib.Path(args.roofline).exists():
        tell(f"{args.roofline} is not built (cmake --build --preset bench): the ceilings are those of llmrt doctor")
        roof = doctor["roofline"]
        return [{"name": name, "threads": roof["threads"], "unit": unit, "best": roof[key], "median": roof[key]}
                for name, unit, key in (("read_doctor", "GB/s", "read_gbps"), ("fma_doctor", "GOPS", "gflops"))]
    tell("measuring the machine's ceilings")
    with tempfile.NamedTemporaryFile() as file:
        output_of([args.roofline, f"--threads={args.threads}", f"--benchmark_out={file.name}", "--benchmark_out_format=json"])
        return figures.ceilings_of(json.loads(pathlib.Path(file.name).read_text()))


def write(path, doc):
    """Whole or not at all."""
    scratch = pathlib.Path(f"{path}.new")
    scratch.write_text(json.dumps(doc, indent=1) + "\n")
    scratch.replace(path)


def measure(args, cache_folder):
    load_average = os.getloadavg()[0]
    bench = Bench(args, cache_folder)
    for peer in bench.peers:
        peer.install(tell)
    doctor = json.loads(output_of([args.tool, "doctor", "--json"]))
    if "asserts on" in doctor["build"]:
        sys.exit(f"bench_vs_peer: {args.tool} is no release build")
    if args.pairs < figures.PAIRS:
        tell(f"{args.pairs} pairs are fewer than {figures.PAIRS}: an indication only")
    doc = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": {"processor": doctor["devices"][0]["name"], "isa": doctor["isa"], "build": doctor["build"],
                    "system": f"{doctor['system']['os']}, {doctor['system']['kernel']}", "huge_pages": doctor["huge_pages"]["transparent"]},
        "threads": args.threads, "load_average": load_average, "versions": {"llmrt": doctor["version"]}, "kv_types": {}, "sides": bench.sides,
        "bounds": {"steal": args.most_steal / 100, "foreign": args.most_foreign / 100},
        "ceilings": measure_ceilings(args, doctor), "models": {}, "texts": [], "runs": []}
    for model in bench.models:
        inspect = json.loads(output_of([args.tool, "inspect", model, "--json"]))
        doc["models"][model.name] = figures.work_of(inspect, model.stat().st_size)
        doc["texts"] += bench.check_text(model)
    doc["unable"] = {", ".join(key): why for key, why in bench.unable.items()}
    paths = {m.name: m for m in bench.models}

    def keep(runs):
        doc["runs"] += runs
        doc["unable"] = {", ".join(key): why for key, why in bench.unable.items()}
        for run in runs:
            for key, of_run in (("versions", "version"), ("kv_types", "kv_type")):
                if said := run.get("figures", {}).get(of_run):
                    doc[key][run["side"].split("/")[0]] = said
        write(args.out, doc)

    write(args.out, doc)
    try:
        run_rounds([(m.name, w) for m in bench.models for w in args.workloads], args.pairs,
                   lambda task, pair: bench.run_pair(paths[task[0]], task[1], pair, lambda side: tell("  " + side)),
                   lambda runs: figures.why_dropped(runs, doc["bounds"]), keep, tell)
    except KeyboardInterrupt:
        tell(f"interrupted; what is done is in {args.out}")
        return 130
    tell(f"done: {args.out}; next: scripts/bench_vs_peer.py --report {args.out}")
    return 0


def document(paths):
    """Of one file or more of raw figures."""
    docs = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    for path, doc in zip(paths, docs):
        if "foreign" not in doc["bounds"]:
            raise ValueError(f"{path} was measured by an older script, which did not tell how much CPU time others had")
    return figures.merged(docs)


def write_report(args):
    page, plots = pathlib.Path(args.page), pathlib.Path(args.plots)
    try:
        text, files = bench_report.report(document(args.report), os.path.relpath(plots, page.parent))
        page.write_text(bench_report.put_between_markers(page.read_text(), text))
    except (ValueError, OSError) as error:
        sys.exit(f"bench_vs_peer: {error}")
    plots.mkdir(parents=True, exist_ok=True)
    for old in (file for kind in ("against", "batch", "prefill") for file in plots.glob(f"{kind}-*.svg")):
        old.unlink()
    for name, svg in files.items():
        (plots / name).write_text(svg)
    tell(f"wrote {page} and {len(files)} plots into {plots}")
    return 0


def names(known):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is unknown, known are {', '.join(known)}")
        return chosen
    return parse


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.gguf")
    parser.add_argument("--out", default="bench_vs_peer.json", help="all raw figures (default: %(default)s)")
    parser.add_argument("--workloads", type=names(list(figures.BY_KEY)), default=figures.DEFAULT_WORKLOADS, metavar="A,B",
                        help=f"of {', '.join(figures.BY_KEY)} (default: {', '.join(figures.DEFAULT_WORKLOADS)})")
    parser.add_argument("--pairs", type=int, default=figures.PAIRS, help="that count, for each model and workload (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", type=names(list(bench_peers.PEERS)), default=["llama.cpp"], metavar="A,B",
                        help=f"of {', '.join(bench_peers.PEERS)} (default: llama.cpp)")
    configs = bench_peers.LLAMA_CPP_CONFIGS
    parser.add_argument("--configs", type=names(list(configs)), metavar="A,B",
                        help=f"of {', '.join(configs)} (default: all but {', '.join(n for n, c in configs.items() if c.asked)}; flash attention "
                        f"on or off in {', '.join(bench_peers.LONG)} only, elsewhere it is the library's choice)")
    parser.add_argument("--most-steal", type=float, default=2, help="percent of all CPUs' time; a pair with more is dropped (default: %(default)s)")
    parser.add_argument("--most-foreign", type=float, default=5, help="percent of all CPUs' time that other processes may have; a pair with "
                        "more is dropped (default: %(default)s)")
    parser.add_argument("--tool", default=ROOT / "build/release/samples/cli/llmrt")
    parser.add_argument("--roofline", default=ROOT / "build/release/tests/bench/roofline")
    parser.add_argument("--venv-llama-cpp", dest="venv_llama_cpp", default=ROOT / "build/peer-llama.cpp", help="folder of its Python environment")
    parser.add_argument("--venv-openvino", dest="venv_openvino", default=ROOT / "build/peer-openvino")
    parser.add_argument("--report", metavar="FIGURES.json", nargs="+", help="write the page and its plots from these, whose runs are put "
                        "together; measure nothing")
    parser.add_argument("--page", default=ROOT / "docs/PERFORMANCE.md")
    parser.add_argument("--plots", default=ROOT / "docs/plots")
    args = parser.parse_args(words)
    if args.report:
        return write_report(args)
    if not args.models:
        parser.error("no model was given")
    if args.pairs < 1 or args.threads < 1:
        parser.error("--pairs and --threads are 1 or more")
    for path in [*args.models, args.tool]:
        if not pathlib.Path(path).exists():
            parser.error(f"{path} is not there")
    try:
        with tempfile.TemporaryDirectory(prefix="bench_vs_peer-") as cache_folder:
            return measure(args, cache_folder)
    except KeyboardInterrupt:
        tell("interrupted before the first pair")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
