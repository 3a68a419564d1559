"""The arithmetic of scripts/bench_vs_peer.py: workloads, ceilings, which pairs count, medians and quartiles. No process, no file."""
import collections
import re
import statistics

OURS = "llmrt"
PAIRS = 7  # fewer are an indication

# args: of `llmrt bench` and of the drivers alike. metric: a key of their JSON. threads: None: as many as asked for. busy: beside one
# process that keeps a CPU busy. less: a smaller figure is the better one.
Workload = collections.namedtuple("Workload", "key title args metric threads busy less", defaults=(None, False, False))
WORKLOADS = [
    Workload("prefill512", "prefill of 512", "-p 512 -n 0", "prefill_tps"),
    Workload("prefill8k", "prefill of 8,000", "-p 8000 -n 0", "prefill_tps"),
    Workload("decode", "decode", "-p 0 -n 64", "decode_tps"),
    Workload("decode1t", "decode, one thread", "-p 0 -n 32", "decode_tps", 1),
    Workload("batch2", "decode of 2", "-p 0 -n 32 -b 2", "decode_tps"),
    Workload("batch4", "decode of 4", "-p 0 -n 32 -b 4", "decode_tps"),
    Workload("batch8", "decode of 8", "-p 0 -n 32 -b 8", "decode_tps"),
    Workload("decode8k", "decode after 8,000", "-p 0 -n 32 --depth 8000", "decode_tps"),
    Workload("busy", "decode beside a busy process", "-p 0 -n 16", "decode_tps", None, True),
    Workload("load", "load, warm", "-p 1 -n 0", "load_ms", None, False, True),
    # for the curves; measured when asked for by name
    Workload("prefill128", "prefill of 128", "-p 128 -n 0", "prefill_tps"),
    Workload("prefill2048", "prefill of 2,048", "-p 2048 -n 0", "prefill_tps"),
]
BY_KEY = {w.key: w for w in WORKLOADS}
DEFAULT_WORKLOADS = [w.key for w in WORKLOADS[:10]]


def option(workload, flag, default=0):
    found = re.search(rf"(?:^| ){flag} (\d+)", workload.args)
    return int(found.group(1)) if found else default


Spread = collections.namedtuple("Spread", "median q1 q3 n")


def spread(values):
    """Median and quartiles; None of nothing."""
    if not values:
        return None
    q1, q3 = (values[0], values[0]) if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")[::2]
    return Spread(statistics.median(values), q1, q3, len(values))


# One run is one process: {"model", "workload", "pair", "side", "figures" (its JSON) or "error", "cpu_s", "switches", "steal",
# "load_average", "peak_rss_bytes", "wall_s"}. A side is "llmrt" or "PEER/CONFIGURATION".


def why_dropped(runs, bounds):
    """Why a pair does not count: somebody else had the machine. None: it counts."""
    for run in runs:
        if "error" in run:
            continue
        if run["steal"] > bounds["steal"]:
            return f"{run['side']}: {run['steal'] * 100:.1f} % of the time was stolen"
        rate = run["switches"] / max(run["cpu_s"], 0.1)
        if not BY_KEY[run["workload"]].busy and rate > bounds["switches_per_cpu_s"]:
            return f"{run['side']}: {rate:.0f} involuntary switches a CPU second"
    return None


def value_of(run):
    figure = run.get("figures", {}).get(BY_KEY[run["workload"]].metric)
    return figure["median"] if figure else None


def good_pairs(doc, model, workload):
    """[{side: run}] of the pairs that count, in order."""
    pairs = collections.defaultdict(dict)
    for run in doc["runs"]:
        if (run["model"], run["workload"]) == (model, workload):
            pairs[run["pair"]][run["side"]] = run
    good = []
    for _, runs in sorted(pairs.items()):
        if why_dropped(runs.values(), doc["bounds"]) is None and value_of(runs.get(OURS, {"workload": workload})) is not None:
            good.append({side: run for side, run in runs.items() if value_of(run) is not None})
    return good


def n_pairs(doc, model, workload):
    return len({r["pair"] for r in doc["runs"] if (r["model"], r["workload"]) == (model, workload)})


def ceiling(doc, kinds, threads):
    """The best figure of those whose name begins so; with fewer threads where these were not measured; None: of none."""
    known = [c for c in doc["ceilings"] if c["name"].startswith(kinds) and c["threads"] <= threads]
    most = max((c["threads"] for c in known), default=0)
    return max((c["best"] for c in known if c["threads"] == most), default=None)


def limit_of(doc, model, workload, kv_bytes=0):
    """What the machine's ceilings allow at most, in the workload's unit: each weight byte is read once a step, each multiply-add done
    once a token, nothing else costs anything. None where no ceiling is known."""
    w, work = BY_KEY[workload], doc["models"][model]
    threads = w.threads or doc["threads"]
    read = ceiling(doc, ("read_",), threads)
    dots = ceiling(doc, ("int8_",) if work["integers"] else ("fma_", "bf16_"), threads) or ceiling(doc, ("fma_",), threads)
    if w.metric == "load_ms":
        return work["file_bytes"] / (read * 1e9) * 1e3 if read else None
    if w.metric == "prefill_tps":
        return dots * 1e9 / (2 * work["prefill_macs"]) if dots and work["prefill_macs"] else None
    if not read or not work["decode_bytes"]:
        return None
    batch = option(w, "-b", 1)
    by_memory = batch * read * 1e9 / (work["decode_bytes"] + kv_bytes)
    return min(by_memory, dots * 1e9 / (2 * work["decode_macs"])) if dots else by_memory


def work_of(inspect, file_bytes):
    """What a token costs, from `llmrt inspect --json`: multiply-adds with weight matrices, and bytes of weights that a step reads."""
    metadata, arch = inspect["metadata"], inspect["model"]["arch"]
    n_experts, n_used = metadata.get(f"{arch}.expert_count", 0), metadata.get(f"{arch}.expert_used_count", 0)
    layers, layer_bytes, head, head_bytes, float_bytes = 0, 0, 0, 0, 0
    tensors = {t["name"]: t for t in inspect["tensors"]}
    for name, t in tensors.items():
        elements = 1
        for d in t["shape"]:
            elements *= d
        share = n_used / n_experts if len(t["shape"]) == 3 and n_experts else 1
        if name.startswith("blk."):
            layer_bytes += t["bytes"] * share
            if len(t["shape"]) >= 2:
                layers += elements * share
                float_bytes += t["bytes"] if t["type"] in ("F32", "F16", "BF16") else 0
        elif name == ("output.weight" if "output.weight" in tensors else "token_embd.weight"):
            head, head_bytes = elements, t["bytes"]
    return {"file_bytes": file_bytes, "prefill_macs": round(layers), "decode_macs": round(layers + head),
            "decode_bytes": round(layer_bytes + head_bytes), "integers": float_bytes * 2 < layer_bytes}


def ceilings_of(google_benchmark):
    """From the roofline program's JSON: the best and the median of each figure's repetitions."""
    found = collections.defaultdict(list)
    for b in google_benchmark["benchmarks"]:
        unit = next((u for u in ("GB/s", "GOPS") if u in b), None)
        if b.get("run_type") == "iteration" and unit:
            found[b["name"].split("/")[0], b["threads"], unit].append(b[unit])
    return [{"name": name, "threads": threads, "unit": unit, "best": max(values), "median": statistics.median(values)}
            for (name, threads, unit), values in found.items()]


def tokens_computed(run):
    """All that the process worked through, warm-up included; 0 where a context was filled before."""
    w, figures = BY_KEY[run["workload"]], run["figures"]
    if option(w, "--depth") or w.metric == "load_ms":
        return 0
    if "tokens_computed" in figures:
        return figures["tokens_computed"]
    prompt, n, batch = option(w, "-p"), option(w, "-n"), option(w, "-b", 1)
    return 2 * (prompt + ((n + 1) * batch if n else 0))  # one warm-up, one repetition


def cpu_ms_per_token(doc, model, workload, side):
    """CPU time beyond that of a process that only loads the model; None where that was not measured."""
    loads = [r["cpu_s"] for r in doc["runs"] if (r["model"], r["workload"], r["side"]) == (model, "load", side) and "figures" in r]
    runs = [pair[side] for pair in good_pairs(doc, model, workload) if side in pair]
    if not loads or not runs or not tokens_computed(runs[0]):
        return None
    base = statistics.median(loads)
    return spread([max(r["cpu_s"] - base, 0) * 1e3 / tokens_computed(r) for r in runs])


Versus = collections.namedtuple("Versus", "peer config value ratio")  # ratio above 1: llmrt is better
Row = collections.namedtuple("Row", "model workload ours limit share versus pairs dropped")


def peers_of(sides):
    return list(dict.fromkeys(side.split("/")[0] for side in sides if side != OURS))


def versus(w, pairs, peer):
    """Pair by pair against the peer's best configuration of that pair; named is the one with the best median."""
    best_of = min if w.less else max
    by_config, values, ratios = collections.defaultdict(list), [], []
    for pair in pairs:
        theirs = {side: value_of(run) for side, run in pair.items() if side.startswith(peer + "/")}
        for side, value in theirs.items():
            by_config[side].append(value)
        if theirs:
            best, ours = best_of(theirs.values()), value_of(pair[OURS])
            values.append(best)
            ratios.append(best / ours if w.less else ours / best)
    if not values:
        return None
    config = best_of(by_config, key=lambda side: statistics.median(by_config[side]))
    return Versus(peer, config.split("/", 1)[1], spread(values), spread(ratios))


def rows_of(doc):
    """One Row for each model and workload with a pair that counts, in the order of the document and of WORKLOADS."""
    rows = []
    for model in doc["models"]:
        for w in WORKLOADS:
            pairs = good_pairs(doc, model, w.key)
            if not pairs:
                continue
            ours = spread([value_of(p[OURS]) for p in pairs])
            kv = statistics.median(p[OURS]["figures"].get("kv_bytes") or 0 for p in pairs)
            limit = limit_of(doc, model, w.key, kv)
            share = None if limit is None else limit / ours.median if w.less else ours.median / limit
            others = [versus(w, pairs, peer) for peer in peers_of(doc["sides"])]
            dropped = n_pairs(doc, model, w.key) - len(pairs)
            rows.append(Row(model, w, ours, limit, share, [v for v in others if v], len(pairs), dropped))
    return rows
