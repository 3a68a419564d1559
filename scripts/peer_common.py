"""What the drivers of other runtimes share: the options and the JSON keys of `llmrt bench`, and the same tokens."""
import argparse
import json
import resource
import statistics


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-p", type=int, default=512, help="prompt tokens, 0: no prefill")
    parser.add_argument("-n", type=int, default=64, help="decode steps, 0: no decode")
    parser.add_argument("-b", type=int, default=1, help="sequences decoded side by side")
    parser.add_argument("-r", type=int, default=1, help="repetitions after one warm-up")
    parser.add_argument("--depth", type=int, default=0, help="tokens in the context before decode is timed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--text", help="the greedy continuation of this text by -n tokens, instead of a measurement")
    parser.add_argument("--json", action="store_true", help="nothing else is ever printed")
    return parser


def some_tokens(n, n_vocab, seed=7):
    """Those of `llmrt bench`: away from the special tokens at both ends of a vocabulary."""
    low = 1000 if n_vocab > 4000 else 3
    span = max(min(n_vocab, 40000) - low, 1)
    ids, state = [], seed
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        ids.append(low + (state >> 33) % span)
    return ids


def stats(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)} if values else None


def print_text(prompt_ids, ids, text, gaps=None):
    """gaps[i]: how far the best logit was ahead of the second at token i; None where a runtime does not tell."""
    print(json.dumps({"prompt_tokens": len(prompt_ids), "token_ids": ids, "gaps": gaps, "text": text}))


def print_figures(args, engine, version, kv_type, load_ms, first_token_ms, weight_bytes, prefill_tps, ttft_ms, decode_tps, tokens_computed):
    """first_token_ms: from the end of loading to the first token of the first prompt; None: it was not of -p tokens. tokens_computed: all of
    the process, warm-up included, to divide its CPU seconds by."""
    gbps = [tps / args.b * weight_bytes / 1e9 for tps in decode_tps] if weight_bytes else []
    print(json.dumps({
        "model": args.model.rsplit("/", 1)[-1], "engine": engine, "version": version, "threads": args.threads, "isa": None,
        "batch": args.b, "depth": args.depth, "prompt": args.p, "n": args.n,
        "prefill_tps": stats(prefill_tps), "decode_tps": stats(decode_tps), "ttft_ms": stats(ttft_ms), "load_ms": stats([load_ms]),
        "load_to_first_token_ms": stats([load_ms + first_token_ms] if first_token_ms is not None else []),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "weight_bytes": weight_bytes, "kv_type": kv_type, "kv_bytes": None,
        "weight_gbps": stats(gbps), "tokens_computed": tokens_computed}))
