"""The arithmetic of scripts/bench_vs_peer.py: workloads, ceilings, which pairs count, medians and quartiles. No process, no file."""
import collections
import re
import statistics

OURS = "llmrt"
PAIRS = 7  # fewer are an indication

LOAD_TO_TOKEN = "load_to_first_token_ms"  # metrics
# args: of `llmrt bench` and of the drivers alike. metric: a key of their JSON. threads: None: as many as asked for. busy: beside one
# process that keeps a CPU busy. less: a smaller figure is the better one. cached: llmrt finds its packed weights in a folder; a peer has no
# such thing. each: the report tells every configuration of a peer. asked: measured only when asked for by name.
Workload = collections.namedtuple("Workload", "key title args metric threads busy less cached each asked",
                                  defaults=(None, False, False, False, False, False))
WORKLOADS = [
    Workload("prefill128", "prefill of 128", "-p 128 -n 0", "prefill_tps", asked=True),
    Workload("prefill512", "prefill of 512", "-p 512 -n 0", "prefill_tps"),
    Workload("prefill2048", "prefill of 2,048", "-p 2048 -n 0", "prefill_tps", asked=True),
    Workload("prefill8k", "prefill of 8,000", "-p 8000 -n 0", "prefill_tps", each=True),
    Workload("decode", "decode", "-p 0 -n 64", "decode_tps"),
    Workload("decode1t", "decode, one thread", "-p 0 -n 32", "decode_tps", threads=1),
    Workload("batch2", "decode of 2", "-p 0 -n 32 -b 2", "decode_tps"),
    Workload("batch4", "decode of 4", "-p 0 -n 32 -b 4", "decode_tps"),
    Workload("batch8", "decode of 8", "-p 0 -n 32 -b 8", "decode_tps"),
    Workload("decode8k", "decode after 8,000", "-p 0 -n 32 --depth 8000", "decode_tps", each=True),
    Workload("busy", "decode beside a busy process", "-p 0 -n 16", "decode_tps", busy=True),
    Workload("load", "load, warm", "-p 1 -n 0", "load_ms", less=True, each=True),
    Workload("load_to_first_token", "load, warm, and the first token of 16", "-p 16 -n 0", LOAD_TO_TOKEN, less=True, each=True, asked=True),
    Workload("load_cached", "load, packed cache", "-p 16 -n 0", "load_ms", less=True, cached=True, each=True, asked=True),
    Workload("load_cached_to_first_token", "load, packed cache, and the first token of 16", "-p 16 -n 0", LOAD_TO_TOKEN, less=True, cached=True,
             each=True, asked=True),
]
BY_KEY = {w.key: w for w in WORKLOADS}
DEFAULT_WORKLOADS = [w.key for w in WORKLOADS if not w.asked]
# Types whose codes take 8 bits: their products are too large to be added in int16 before they widen.
WIDE = {"Q8_0", "Q8_1", "Q8_K", "IQ4_NL", "IQ4_XS"}
FLOATS = {"F64", "F32", "F16", "BF16", "NVFP4"}  # computed in float
PADDW = "int8_maddubs_paddw"  # the loop that does so


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


# One run is one process: {"model", "workload", "pair", "side", "figures" (its JSON) or "error", "cpu_s", "switches", "steal", "foreign",
# "load_average", "peak_rss_bytes", "wall_s"}. A side is "llmrt" or "PEER/CONFIGURATION".


def why_dropped(runs, bounds):
    """Why a pair does not count: somebody else had the machine. None: it counts."""
    for run in runs:
        if "error" in run:
            continue
        if run["steal"] > bounds["steal"]:
            return f"{run['side']}: {run['steal'] * 100:.1f} % of the time was stolen"
        if run["foreign"] > bounds["foreign"]:
            return f"{run['side']}: others had {run['foreign'] * 100:.1f} % of the CPUs' time"
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


Ceiling = collections.namedtuple("Ceiling", "best loop")
Limit = collections.namedtuple("Limit", "value loop")  # in the workload's unit; the loop that it comes from


def ceiling(doc, kinds, threads, without=()):
    """The best loop of those whose name begins so; with fewer threads where these were not measured; None: of none."""
    known = [c for c in doc["ceilings"] if c["name"].startswith(kinds) and c["name"] not in without and c["threads"] <= threads]
    most = max((c["threads"] for c in known), default=0)
    return max((Ceiling(c["best"], c["name"]) for c in known if c["threads"] == most), default=None)


def dots_ceiling(doc, work, threads):
    """The machine's best loop of multiply-adds for this model; that which adds in int16 only where the codes are small enough."""
    if not work["integers"]:
        return ceiling(doc, ("fma_", "bf16_"), threads)
    without = () if work["narrow"] else [c["name"] for c in doc["ceilings"] if c["name"].startswith(PADDW)]
    return ceiling(doc, ("int8_",), threads, without) or ceiling(doc, ("fma_",), threads)


def limit_of(doc, model, workload, kv_bytes=0):
    """What the machine's ceilings allow at most: each weight byte is read once a step, each multiply-add done once a token, nothing else
    costs anything. None where no ceiling is known: mapping a file takes no time that reading or multiplying would tell."""
    w, work = BY_KEY[workload], doc["models"][model]
    threads = w.threads or doc["threads"]
    read, dots = ceiling(doc, ("read_",), threads), dots_ceiling(doc, work, threads)
    if w.less:
        if not read or (w.cached and w.metric == "load_ms"):
            return None
        limits = [Limit((work["decode_bytes"] if w.cached else work["file_bytes"]) / (read.best * 1e9) * 1e3, read.loop)]
        if dots and w.metric == LOAD_TO_TOKEN:
            limits.append(Limit(option(w, "-p") * 2 * work["prefill_macs"] / (dots.best * 1e9) * 1e3, dots.loop))
        return max(limits)
    if w.metric == "prefill_tps":
        return Limit(dots.best * 1e9 / (2 * work["prefill_macs"]), dots.loop) if dots and work["prefill_macs"] else None
    if not read or not work["decode_bytes"]:
        return None
    limits = [Limit(option(w, "-b", 1) * read.best * 1e9 / (work["decode_bytes"] + kv_bytes), read.loop)]
    if dots:
        limits.append(Limit(dots.best * 1e9 / (2 * work["decode_macs"]), dots.loop))
    return min(limits)


def work_of(inspect, file_bytes):
    """What a token costs, from `llmrt inspect --json`: multiply-adds with weight matrices, and bytes of weights that a step reads. narrow:
    the products of most of them fit into int16 in numbers."""
    metadata, arch = inspect["metadata"], inspect["model"]["arch"]
    n_experts, n_used = metadata.get(f"{arch}.expert_count", 0), metadata.get(f"{arch}.expert_used_count", 0)
    layers, layer_bytes, head, head_bytes, float_bytes, narrow = 0, 0, 0, 0, 0, 0
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
                float_bytes += t["bytes"] * share if t["type"] in FLOATS else 0
                narrow += elements * share if t["type"] not in FLOATS | WIDE else 0
        elif name == ("output.weight" if "output.weight" in tensors else "token_embd.weight"):
            head, head_bytes = elements, t["bytes"]
    return {"file_bytes": file_bytes, "prefill_macs": round(layers), "decode_macs": round(layers + head),
            "decode_bytes": round(layer_bytes + head_bytes), "integers": float_bytes * 2 < layer_bytes, "narrow": narrow * 2 > layers}


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
    if option(w, "--depth") or w.less:
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
# limit: a Limit or None. configs: every configuration of every peer, as a Versus each
Row = collections.namedtuple("Row", "model workload ours limit share versus configs pairs dropped")


def peers_of(sides):
    return list(dict.fromkeys(side.split("/")[0] for side in sides if side != OURS))


def ratio(w, ours, theirs):
    return theirs / ours if w.less else ours / theirs


def versus(w, pairs, peer):
    """Pair by pair against the peer's best configuration of that pair; named is the one with the best median."""
    best_of = min if w.less else max
    by_config, values, ratios = collections.defaultdict(list), [], []
    for pair in pairs:
        theirs = {side: value_of(run) for side, run in pair.items() if side.startswith(peer + "/")}
        for side, value in theirs.items():
            by_config[side].append(value)
        if theirs:
            values.append(best_of(theirs.values()))
            ratios.append(ratio(w, value_of(pair[OURS]), values[-1]))
    if not values:
        return None
    config = best_of(by_config, key=lambda side: statistics.median(by_config[side]))
    return Versus(peer, config.split("/", 1)[1], spread(values), spread(ratios))


def versus_side(w, pairs, side):
    """Against one configuration, best or not."""
    both = [(value_of(pair[OURS]), value_of(pair[side])) for pair in pairs if side in pair]
    peer, config = side.split("/", 1)
    return Versus(peer, config, spread([b for _, b in both]), spread([ratio(w, a, b) for a, b in both])) if both else None


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
            share = None if limit is None else limit.value / ours.median if w.less else ours.median / limit.value
            others = [versus(w, pairs, peer) for peer in peers_of(doc["sides"])]
            each = [versus_side(w, pairs, side) for side in doc["sides"] if side != OURS]
            dropped = n_pairs(doc, model, w.key) - len(pairs)
            rows.append(Row(model, w, ours, limit, share, [v for v in others if v], [v for v in each if v], len(pairs), dropped))
    return rows


def merged(docs):
    """One document of several that were measured on one machine, such as one for each group of workloads. Pairs are numbered on, so that
    those of two documents never mix. ValueError: what cannot be put beside each other."""
    first, *rest = docs
    out = {**first, **{key: dict(first[key]) for key in ("models", "unable", "versions", "kv_types")}, "texts": list(first["texts"]),
           "runs": list(first["runs"]), "sides": list(first["sides"]), "bounds": dict(first["bounds"])}
    for doc in rest:
        for what, one, other in [("processor", first["machine"]["processor"], doc["machine"]["processor"]),
                                 ("kernels", first["machine"]["isa"], doc["machine"]["isa"]), ("threads", first["threads"], doc["threads"]),
                                 *((f"version of {side}", out["versions"].get(side, version), version) for side, version in doc["versions"].items()),
                                 *((f"bytes of {model}", out["models"].get(model, work)["file_bytes"], work["file_bytes"])
                                   for model, work in doc["models"].items())]:
            if one != other:
                raise ValueError(f"these are no figures of one report: {what} {one}, and {other}")
        done = collections.Counter()
        for run in out["runs"]:
            task = run["model"], run["workload"]
            done[task] = max(done[task], run["pair"])
        out["runs"] += [{**run, "pair": run["pair"] + done[run["model"], run["workload"]]} for run in doc["runs"]]
        for key in ("models", "unable", "versions", "kv_types"):
            out[key] = {**doc[key], **out[key]}
        known = {(t["model"], t["peer"]) for t in out["texts"]}
        out["texts"] += [t for t in doc["texts"] if (t["model"], t["peer"]) not in known]
        out["sides"] += [side for side in doc["sides"] if side not in out["sides"]]
        out["bounds"] = {key: min(bound, doc["bounds"][key]) for key, bound in out["bounds"].items()}
        out["load_average"] = max(out["load_average"], doc["load_average"])
    dates = sorted({doc["date"] for doc in docs})
    return {**out, "date": dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"}
