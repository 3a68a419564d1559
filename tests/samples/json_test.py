#!/usr/bin/env python3
"""What the tool prints with --json: the keys that scripts read, and an answer's object however the answer ended.

    json_test.py LLMRT TABLE_MODEL MODEL_WITH_A_BOS

After 'a' the table model says "bcd ... zabc ..." for ever, and in a chat "123456789".
"""
import array
import json
import math
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

from tool_kit import run

BOS = 1  # of the model with one, which it puts before every text

TIMED = {"median", "min", "max"}
SAMPLE = {"text", "token_ids", "finish"}
USAGE = {"prompt_tokens", "cached_tokens", "generated_tokens", "seed", "queue_ms", "prefill_ms", "decode_ms", "ttft_ms", "isa"}
BENCH_TIMED = {"prefill_tps", "decode_tps", "ttft_ms", "load_ms", "load_to_first_token_ms", "weight_gbps"}
BENCH = {"model", "threads", "isa", "peak_rss_bytes", "weight_bytes", "kv_type", "kv_bytes", *BENCH_TIMED}
PERPLEXITY = {"perplexity", "running", "windows", "n_scored", "ctx"}
MODEL = {"arch", "name", "quant", "hash", "n_params", "n_vocab", "n_ctx_train", "n_embd", "n_layer"}
TENSOR = {"name", "type", "shape", "bytes", "file_offset", "shard"}
PLAN = {"fits", "ctx_tokens", "max_ctx_that_fits", "weights", "kv", "kv_per_token", "compute", "host_total"}
DOCTOR = {"version", "build", "system", "devices", "isa", "isa_why_not_better", "workers", "quota", "huge_pages", "memory", "roofline"}

# Minutes long: far beyond what it is stopped after.
ENDLESS = ["--raw", "-p", "a", "-n", "-1", "--ctx", "65536", "--temp", "0"]

failures = []


def expect(what, good, said):
    if not good:
        failures.append(f"{what}: {said}")


def said_by(tool, args, status=0, **env):
    """The JSON on standard output, and standard error."""
    got, out, err = run(tool, args, **env)
    if got != status:
        sys.exit(f"{' '.join(args)}: exit {got}, {err.strip()!r}, output {out[:200]!r}")
    return json.loads(out), err


def letters(n):
    return "".join(chr(ord("a") + (i + 1) % 26) for i in range(n))


def is_part(said, finish):
    """An answer of the table model's to 'a', cut off somewhere."""
    text = said["text"]
    whole = said["token_ids"] == [ord(c) for c in text] and said["usage"]["generated_tokens"] == len(text)
    return said["finish"] == finish and text == letters(len(text)) and whole


def check_run(tool, table, model):
    said, _ = said_by(tool, ["run", table, "--raw", "-p", "a", "-n", "3", "--temp", "0", "--json"])
    expect("run, keys", set(said) == SAMPLE | {"usage"} and set(said["usage"]) == USAGE, said)
    expect("run, length", is_part(said, "length") and len(said["text"]) == 3 and said["usage"]["prompt_tokens"] == 1, said)
    said, _ = said_by(tool, ["run", table, "hi", "--n", "2", "--temp", "0", "--json"])
    expect("run, stop", said["text"] == "123456789" and said["finish"] == "stop", said)
    samples = said["samples"]
    expect("run, samples", len(samples) == 2 and all(set(s) == SAMPLE and s["text"] == "123456789" for s in samples), said)
    said, _ = said_by(tool, ["run", table, "--raw", "-p", "a", "--ctx", "600", "--temp", "0", "--json"])
    expect("run without -n", is_part(said, "length") and len(said["text"]) == 512, said)

    # special-token text is text unless asked, and a BOS goes before both
    def prompt_tokens(*args):
        return said_by(tool, ["run", *args, "--raw", "-n", "1", "--json"])[0]["usage"]["prompt_tokens"]

    def n_ids(*args):
        return said_by(tool, ["tokenize", *args, "--json"])[0]["n_ids"]

    got = prompt_tokens(table, "-p", "a<|end|>"), prompt_tokens(table, "-p", "a<|end|>", "--special")
    expect("run --raw --special", got == (8, 2), got)
    text = ["-p", "<s>ab"]
    got = prompt_tokens(model, *text), prompt_tokens(model, *text, "--special")
    want = n_ids(model, *text) + 1, n_ids(model, *text, "--special")
    expect("run --raw --special with a BOS", got == want and got[1] < got[0], (got, want))


def poisoned(model, token):
    """The table model's file, the embedding of a token not a number: embeddings are one-hot rows of 288."""
    data = bytearray(pathlib.Path(model).read_bytes())
    begin = data.index(struct.pack("<288f", 1.0, *[0.0] * 287)) + 288 * 4 * token
    data[begin : begin + 4] = struct.pack("<f", math.nan)
    return data


def thread_names(pid):
    names = []
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/comm"):
        try:
            names.append(file.read_text().strip())
        except OSError:  # it has ended
            pass
    return names


def check_bad_ends(tool, table, folder):
    said, err = said_by(tool, ["run", table, *ENDLESS, "--timeout-ms", "10", "--json"], status=1)
    expect("run, timeout", is_part(said, "timeout") and set(said["usage"]) == USAGE and "timeout_ms of 10" in err, (said, err))
    got, out, err = run(tool, ["run", table, *ENDLESS, "--timeout-ms", "10"])
    expect("run, timeout, as text", got == 1 and out == letters(len(out)) and "timeout_ms of 10" in err, (got, out, err))

    pathlib.Path(folder, "poisoned").write_bytes(poisoned(table, ord("c")))
    said, err = said_by(tool, ["run", f"{folder}/poisoned", "--raw", "-p", "a", "-n", "9", "--temp", "0", "--json"], status=1)
    expect("run, error", is_part(said, "error") and said["text"] == "bc" and "NaN" in err, (said, err))

    asked = subprocess.Popen([tool, "run", table, *ENDLESS, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while asked.poll() is None and "llmrt-engine" not in thread_names(asked.pid):  # before, it is the loading that ends
        time.sleep(0.01)
    asked.send_signal(signal.SIGINT)
    out, err = asked.communicate(timeout=60)
    good = asked.returncode == 130 and is_part(json.loads(out), "cancelled") and b"interrupted" in err
    expect("run, cancelled", good, (asked.returncode, out, err))


def check_figures(tool, table, model):
    said, _ = said_by(tool, ["bench", model, "-p", "8", "-n", "4", "-b", "2", "-r", "1", "--json"])
    timed = all(set(said[key]) == TIMED and said[key]["median"] > 0 for key in BENCH_TIMED)
    counted = all(said[key] > 0 for key in ("threads", "weight_bytes", "kv_bytes")) and said["peak_rss_bytes"] > said["weight_bytes"]
    expect("bench", BENCH <= set(said) and timed and counted and said["model"] == pathlib.Path(model).name, said)
    later = said["load_to_first_token_ms"]["median"] - said["load_ms"]["median"]
    expect("bench, load to first token", later > 0, said)
    block = 32 * said_by(tool, ["inspect", model, "--json"])[0]["plan"]["kv_per_token"]  # one group of layers
    for batch, n_blocks in ((2, 2 + 2), (8, 2 * (2 + 4))):  # a sequence of 5 rows: one block; and two reserved ones for each four of them
        said, _ = said_by(tool, ["bench", model, "-p", "0", "-n", "4", "-b", str(batch), "-r", "1", "--json"])
        expect("bench, KV", (said["kv_type"], said["kv_bytes"]) == ("bf16", n_blocks * block), (batch, block, said))

    said, _ = said_by(tool, ["inspect", model, "--json"])
    expect("inspect", {"model", "metadata", "tensors", "plan"} <= set(said) and MODEL <= set(said["model"]) and PLAN <= set(said["plan"]), said)
    tensor = next(t for t in said["tensors"] if t["name"] == "token_embd.weight")
    expect("inspect, tensors", TENSOR <= set(tensor) and tensor["shape"] == [128, 512] and tensor["type"] == "F16", tensor)
    expect("inspect, metadata", said["metadata"]["llama.context_length"] == 512, said["metadata"])
    raw, _ = said_by(tool, ["inspect", model, "--load-mode", "raw", "--json"])
    vectors = sum(t["bytes"] for t in said["tensors"] if len(t["shape"]) == 1)
    expect("inspect, raw weights stay in the file", raw["plan"]["weights"] == vectors < said["plan"]["weights"], (raw["plan"], said["plan"]))

    said, _ = said_by(tool, ["tokenize", table, "-p", "ab", "--json"])
    expect("tokenize", said["ids"] == [97, 98] and said["n_ids"] == 2, said)

    # its roofline takes a second each time
    said, _ = said_by(tool, ["doctor", "--json"], LLMRT_CPU_ISA="scalar")
    forced = said["isa"] == "scalar" and said["isa_why_not_better"] == "LLMRT_CPU_ISA=scalar asks for it"
    expect("doctor", DOCTOR <= set(said) and forced and "model" not in said, said)
    said, _ = said_by(tool, ["doctor", table, "--json"])
    has = PLAN | {"arch", "name", "quant", "hash", "decode_limit_tps"}
    roof = said["roofline"]["read_gbps"] > 0 and said["roofline"]["gflops"] > 0 and said["roofline"]["threads"] > 0
    expect("doctor of a model", DOCTOR <= set(said) and has <= set(said["model"]) and roof and said["devices"][0]["id"], said)


def logits_of(tool, model, ids, out):
    words = ["logits", model, "--tokens", ",".join(map(str, ids)), "--out", out]
    got, _, err = run(tool, words)
    if got != 0:
        sys.exit(f"logits: exit {got}, {err.strip()!r}")
    return array.array("f", pathlib.Path(out).read_bytes())


def perplexity_of(tool, model, ids, ctx, windows, folder, bos):
    """exp of the mean -log p of tokens ctx/2 + 1 .. ctx - 1 of each window, and how many those are, from `llmrt logits`."""
    terms = []
    for begin in range(0, windows * ctx, ctx):
        window = ids[begin : begin + ctx]
        if bos is not None:
            window[0] = bos
        floats = logits_of(tool, model, window, f"{folder}/rows")
        n_vocab = len(floats) // ctx
        for i in range(ctx // 2 + 1, ctx):
            row = floats[(i - 1) * n_vocab : i * n_vocab]
            top = max(row)
            terms.append(top + math.log(math.fsum(math.exp(x - top) for x in row)) - row[window[i]])
    return math.exp(math.fsum(terms) / len(terms)), len(terms)


def check_perplexity(tool, table, model, folder):
    text = f"{folder}/prose"
    pathlib.Path(text).write_text("The quick brown fox jumps over the lazy dog, and none of it is a surprise. " * 3)
    # without and with a BOS of the model; an odd window
    for name, bos, ctx, windows in ((table, None, 32, 2), (model, BOS, 33, 3)):
        ids = said_by(tool, ["tokenize", name, "-f", text, "--special", "--json"])[0]["ids"]
        want, n_scored = perplexity_of(tool, name, ids, ctx, windows, folder, bos)
        words = ["perplexity", name, text, "--ctx", str(ctx), "--windows", str(windows), "--kv-type", "f32", "--json"]
        said, _ = said_by(tool, words)
        close = abs(said["perplexity"] / want - 1) < 1e-9 and abs(said["running"][-1] / want - 1) < 1e-9
        counts = (said["n_scored"], said["windows"], len(said["running"]), said["ctx"]) == (n_scored, windows, windows, ctx)
        expect(f"perplexity of {name}", close and counts and set(said) == PERPLEXITY, (said, want, n_scored))

        logits_of(tool, name, ids[:ctx], f"{folder}/base")
        said, _ = said_by(tool, [*words, "--kl-base", f"{folder}/base"])
        same = abs(said["mean_kl"]) < 1e-12 and said["top1"] == 1
        expect(f"perplexity of {name} beside itself", same and set(said) == PERPLEXITY | {"mean_kl", "top1"}, said)


def main():
    tool, table, model = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        check_run(tool, table, model)
        check_bad_ends(tool, table, folder)
        check_figures(tool, table, model)
        check_perplexity(tool, table, model, folder)
    if failures:
        sys.exit("\n".join(failures))
    print("all objects held")


main()
