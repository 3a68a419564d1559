"""Tables and plots of a file of scripts/bench_vs_peer.py. The same file gives the same bytes."""
import re

import bench_figures as figures
import bench_plots as plots
from bench_plots import number

BEGIN, END = "<!-- bench_vs_peer: begin -->", "<!-- bench_vs_peer: end -->"


def with_quartiles(s):
    return f"{number(s.median)} [{number(s.q1)} to {number(s.q3)}]"


def megabytes(n):
    return f"{n / 1e6:,.0f} MB"


def table(head, rows):
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows), ""]


def unit_of(w):
    return "ms" if w.less else "tokens/s"


def of_ceiling(row):
    return "" if row.limit is None else f"{row.share * 100:.0f} % of {row.limit.loop}"


def ratio_table(rows, peer):
    body = []
    for row in rows:
        other = next((v for v in row.versus if v.peer == peer), None)
        body.append([row.model, row.workload.title, unit_of(row.workload), with_quartiles(row.ours), of_ceiling(row),
                     f"{with_quartiles(other.value)}, {other.config}" if other else "not run",
                     with_quartiles(other.ratio) if other else "", f"{row.pairs}" + (f" of {row.pairs + row.dropped}" if row.dropped else "")])
    return table(["model", "workload", "unit", "llmrt", "of the ceiling", f"{peer}, its best", "ratio", "pairs"], body)


def configuration_table(rows):
    """Where it matters which one is beaten: loading with the packed cache has to be compared with the peer that packs nothing either."""
    body = [[row.model, row.workload.title, with_quartiles(row.ours), f"{v.peer}, {v.config}", with_quartiles(v.value), with_quartiles(v.ratio)]
            for row in rows if row.workload.each for v in row.configs]
    return ["Each configuration of a peer:", "", *table(["model", "workload", "llmrt", "peer", "its own", "ratio"], body)] if body else []


def cpu_table(doc, rows):
    body = []
    for row in rows:
        cells = []
        for peer in [figures.OURS, *figures.peers_of(doc["sides"])]:
            sides = [s for s in doc["sides"] if s.split("/")[0] == peer]
            known = [s for s in (figures.cpu_ms_per_token(doc, row.model, row.workload.key, side) for side in sides) if s]
            cells.append(with_quartiles(min(known)) if known else "")
        if cells[0]:
            body.append([row.model, row.workload.title, *cells])
    if not body:
        return []
    head = ["model", "workload", *(f"{p}, ms" for p in [figures.OURS, *figures.peers_of(doc["sides"])])]
    return ["CPU time per token, all threads, without loading:", "", *table(head, body)]


def memory_table(doc):
    """Peak memory of a decoding process; the goal is the file and KV with 5 % and 60 MB more."""
    body = []
    for model, work in doc["models"].items():
        pairs = figures.good_pairs(doc, model, "decode")
        if not pairs:
            continue
        kv = max(p[figures.OURS]["figures"].get("kv_bytes") or 0 for p in pairs)
        goal = 1.05 * work["file_bytes"] + kv + 60e6
        cells = []
        for peer in [figures.OURS, *figures.peers_of(doc["sides"])]:
            by_side = [figures.spread([p[s]["peak_rss_bytes"] for p in pairs if s in p]) for s in doc["sides"] if s.split("/")[0] == peer]
            known = [s.median for s in by_side if s]
            cells.append(megabytes(min(known)) if known else "")
        body.append([model, megabytes(work["file_bytes"]), megabytes(goal), *cells])
    head = ["model", "file", "goal: 1.05 of the file, KV, 60 MB", *[figures.OURS, *figures.peers_of(doc["sides"])]]
    return ["Peak memory of a decoding process (a peer's with its Python interpreter, some 30 MB):", "", *table(head, body)] if body else []


def ceiling_table(doc):
    body = [[c["name"], str(c["threads"]), f"{number(c['best'])} {c['unit']}", f"{number(c['median'])} {c['unit']}"] for c in doc["ceilings"]]
    return ["Ceilings, measured in the same session:", "", *table(["loop", "threads", "best", "median"], body)] if body else []


def losses(rows):
    """The workloads in which the lower quartile of the ratio is below 1."""
    lost = [f"{row.model}, {row.workload.title}, against {v.peer}: {with_quartiles(v.ratio)}" for row in rows for v in row.versus if v.ratio.q1 < 1]
    if not lost:
        return ["llmrt is ahead in every row, with the whole of the interquartile range.", ""]
    return ["Not ahead with the whole of the interquartile range:", "", *(f"- {line}" for line in lost), ""]


def texts(doc):
    if not doc["texts"]:
        return []
    said = [f"{t['model']}: {t['equal']} of {t['of']} ({t['peer']})" for t in doc["texts"]]
    return ["Greedy tokens that are equal before the first difference, which is between two nearly equal logits: " + "; ".join(said) + ".", ""]


def not_run(doc):
    lines = [f"- {what}: {why}" for what, why in doc["unable"].items()]
    return ["Not run:", "", *lines, ""] if lines else []


def introduction(doc, rows):
    m, bounds = doc["machine"], doc["bounds"]
    loads = figures.spread([run["load_average"] for run in doc["runs"]])
    load = f", {with_quartiles(loads)} before a run, the runs' own threads among them" if loads else ""
    kv_types = ", ".join(f"{name} {kv}" for name, kv in doc["kv_types"].items()) or "not told"
    fewest = min((row.pairs for row in rows), default=0)
    few = f" Fewer than {figures.PAIRS} pairs are an indication only." if fewest < figures.PAIRS else ""
    versions = ", ".join(f"{name} {version}" for name, version in doc["versions"].items())
    return [f"{m['processor']}, {m['system']}, {doc['threads']} threads, kernels {m['isa']}, {m['build']}; {doc['date']}; {versions}. "
            f"KV cache: {kv_types}. Load average of a minute: {number(doc['load_average'])} before all{load}.", "",
            "Pairs alternate (A, B, B, A); of the peer's configurations the best of each pair counts. Median [quartiles]; a ratio above 1 means "
            f"that llmrt is better. A pair is dropped when more than {bounds['steal'] * 100:g} % of all CPUs' time was stolen from the machine "
            f"during a run, or other processes had more than {bounds['foreign'] * 100:g} % of it (/proc/stat, less what the run itself used; "
            f"involuntary switches say nothing, since some kernels count each sched_yield as one).{few} The ceiling is what the machine could do "
            "if each weight were read once a step and each multiply-add done once a token; named is the loop of the last table, the best that "
            f"this machine has, whose figure it is. {figures.PADDW} counts for models whose codes it can multiply, those of 8 bits excepted.", ""]


def plot_files(doc, rows):
    """{name: SVG}"""
    files = {}
    for peer in figures.peers_of(doc["sides"]):
        ratios = [(f"{row.model}, {row.workload.title}", v.ratio, number(v.ratio.median)) for row in rows for v in row.versus if v.peer == peer]
        if ratios:
            name = re.sub(r"[^a-z0-9]+", "-", peer.lower())
            files[f"against-{name}.svg"] = plots.bars(f"llmrt against {peer}: ratio, median and quartiles", ratios, 1.0)
    for model in doc["models"]:
        mine = [row for row in rows if row.model == model]
        name = re.sub(r"[^a-z0-9]+", "-", model.lower().removesuffix(".gguf"))
        batches = [(figures.option(r.workload, "-b", 1), r) for r in mine if r.workload.key in ("decode", "batch2", "batch4", "batch8")]
        if len(batches) > 1:
            files[f"batch-{name}.svg"] = plots.lines(f"{model}: decode", "sequences", "tokens/s", series(doc, batches, lambda x, s: s))
        prefills = [(figures.option(r.workload, "-p"), r) for r in mine if r.workload.metric == "prefill_tps"]
        if len(prefills) > 1:
            files[f"prefill-{name}.svg"] = plots.lines(f"{model}: prefill", "tokens", "s", series(doc, prefills, seconds))
            files[f"prefill-rate-{name}.svg"] = plots.lines(f"{model}: prefill", "tokens of the prompt", "tokens/s",
                                                            series(doc, prefills, lambda x, s: s), doubling=True)
    return files


def seconds(tokens, s):
    return figures.Spread(tokens / s.median, tokens / s.q3, tokens / s.q1, s.n)


def series(doc, points, shape):
    """The lines of a plot: llmrt, each peer, the ceiling."""
    lines = [(figures.OURS, [(x, shape(x, row.ours)) for x, row in points], False)]
    for peer in figures.peers_of(doc["sides"]):
        theirs = [(x, shape(x, v.value)) for x, row in points for v in row.versus if v.peer == peer]
        if theirs:
            lines.append((peer, theirs, False))
    limits = [(x, shape(x, figures.Spread(*[row.limit.value] * 3, 1))) for x, row in points if row.limit]
    if limits:
        lines.append(("ceiling", limits, True))
    return lines


def report(doc, plot_folder):
    """(markdown, {file name: SVG}); plot_folder: as the page names it."""
    rows = figures.rows_of(doc)
    files = plot_files(doc, rows)
    out = introduction(doc, rows)
    if not rows:
        out += ["No pair counts yet.", ""]
    for peer in figures.peers_of(doc["sides"]):
        if any(v.peer == peer for row in rows for v in row.versus):
            out += ratio_table(rows, peer)
    if rows:
        out += losses(rows) + configuration_table(rows) + cpu_table(doc, rows) + memory_table(doc)
    out += not_run(doc) + texts(doc) + ceiling_table(doc)
    out += [f"![{name.removesuffix('.svg')}]({plot_folder}/{name})" for name in files]
    return "\n".join(out).rstrip("\n") + "\n", files


def put_between_markers(page, text):
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page has not one {BEGIN} before one {END}")
    return page[: page.index(BEGIN)] + BEGIN + "\n\n" + text + "\n" + page[page.index(END) :]
