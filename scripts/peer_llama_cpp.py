#!/usr/bin/env python3
"""llama.cpp, through the PyPI package llama-cpp-python, on the workloads of `llmrt bench`, with its options and its JSON keys.

scripts/bench_vs_peer.py installs and runs it. By hand:

    build/peer-llama.cpp/bin/python scripts/peer_llama_cpp.py MODEL.gguf -p 512 -n 64 --threads 2 --repack 0 --flash-attn off

2 MiB pages: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 in the environment.
"""
import ctypes
import os
import sys
import time

import peer_common

BATCH = 2048  # rows given to the runtime at once; it works through them 512 at a time
WARM_UP = 512  # tokens; a warm-up of a whole long prompt would only take time
KV_F16 = 1  # ggml's type number
FLASH_ATTN = {"auto": -1, "off": 0, "on": 1}  # llama_flash_attn_type
READ_WHOLE = 0  # llama_load_mode: neither mapped nor locked


def put(params, **values):
    """Of a ctypes structure. It takes any attribute, and does nothing with one that is no field of its own."""
    for name, value in values.items():
        if name not in {field[0] for field in params._fields_}:
            sys.exit(f"{type(params).__name__} of this llama.cpp has no {name}: the driver is for another version")
        setattr(params, name, value)


def model_params(params, args, environment):
    put(params, n_gpu_layers=0, use_extra_bufts=bool(args.repack))
    if "hugetlb" in environment.get("GLIBC_TUNABLES", ""):
        put(params, load_mode=READ_WHOLE)  # a mapped file stays in pages of 4 KiB
    return params


def context_params(params, args, ctx_tokens):
    put(params, n_ctx=ctx_tokens, n_batch=BATCH, n_ubatch=512, n_seq_max=args.b, n_threads=args.threads, n_threads_batch=args.threads,
        type_k=KV_F16, type_v=KV_F16, flash_attn_type=FLASH_ATTN[args.flash_attn],
        swa_full=False)  # sliding windows keep no more than they see: the quicker way
    return params


class Model:
    def __init__(self, L, args):
        self.L, self.args = L, args

        @ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        def silent(level, text, user):
            pass

        self.silent = silent  # the library keeps a pointer to it
        L.llama_log_set(silent, ctypes.c_void_p())
        L.llama_backend_init()
        params = model_params(L.llama_model_default_params(), args, os.environ)
        begin = time.perf_counter()
        self.model = L.llama_model_load_from_file(args.model.encode(), params)
        self.load_ms = (time.perf_counter() - begin) * 1e3
        if not self.model:
            sys.exit(f"llama.cpp cannot load {args.model}")
        self.vocab = L.llama_model_get_vocab(self.model)
        self.n_vocab = L.llama_vocab_n_tokens(self.vocab)
        self.tokens_computed = 0

    def start(self, ctx_tokens):
        L = self.L
        self.context = L.llama_init_from_model(self.model, context_params(L.llama_context_default_params(), self.args, ctx_tokens))
        if not self.context:
            sys.exit(f"llama.cpp cannot make a context of {ctx_tokens} tokens")
        self.memory = L.llama_get_memory(self.context)
        self.batch = L.llama_batch_init(BATCH, 0, self.args.b)

    def run(self, rows):
        """rows: (token, position, sequence, whether its logits are wanted)"""
        for first in range(0, len(rows), BATCH):
            part = rows[first : first + BATCH]
            self.batch.n_tokens = len(part)
            for i, (token, position, sequence, wanted) in enumerate(part):
                self.batch.token[i] = token
                self.batch.pos[i] = position
                self.batch.n_seq_id[i] = 1
                self.batch.seq_id[i][0] = sequence
                self.batch.logits[i] = wanted
            status = self.L.llama_decode(self.context, self.batch)
            if status != 0:
                sys.exit(f"llama_decode: {status}")
        self.L.llama_synchronize(self.context)
        self.tokens_computed += len(rows)

    def prompt(self, tokens, sequence=0):
        self.run([(t, i, sequence, i == len(tokens) - 1) for i, t in enumerate(tokens)])

    def forget(self):
        self.L.llama_memory_clear(self.memory, True)

    def rewind(self, depth):
        """Back to `depth` tokens in each sequence; False: they have to be computed again."""
        if depth == 0 or self.L.llama_model_n_swa(self.model) > 0:  # a window that moved on has lost its beginning
            return False
        return all(self.L.llama_memory_seq_rm(self.memory, s, depth, -1) for s in range(self.args.b))


def greedy_text(m):
    L, data = m.L, m.args.text.encode()
    ids = (L.llama_token * (len(data) + 16))()
    n = L.llama_tokenize(m.vocab, data, len(data), ids, len(ids), True, False)
    if n <= 0:
        sys.exit("llama.cpp makes no tokens of the text")
    prompt = list(ids[:n])
    m.start(n + m.args.n + 64)
    m.prompt(prompt)
    out, gaps, last = [], [], n - 1
    for k in range(m.args.n):
        row = L.llama_get_logits_ith(m.context, last)[: m.n_vocab]
        best = max(range(m.n_vocab), key=row.__getitem__)
        out.append(best)
        gaps.append(row[best] - max(x for i, x in enumerate(row) if i != best))
        if k + 1 < m.args.n:
            m.run([(best, n + k, 0, True)])
        last = 0
    piece, text = (ctypes.c_char * 256)(), b""
    for token in out:
        length = L.llama_token_to_piece(m.vocab, token, piece, 256, 0, True)
        text += piece.raw[:length] if length > 0 else b""
    peer_common.print_text(prompt, out, text.decode("utf-8", "replace"), gaps)


def measure(m, version):
    args = m.args
    loaded = time.perf_counter()
    m.start((max(args.p, args.depth) + args.n + 64) * args.b)
    tokens = peer_common.some_tokens(max(args.p, args.depth, 8), m.n_vocab)
    prefill, ttft, decode, first_token_ms = [], [], [], None
    for repetition in range(args.r + 1 if args.p else 0):
        prompt = tokens[: args.p if repetition else min(args.p, WARM_UP)]
        m.forget()
        begin = time.perf_counter()
        m.prompt(prompt)
        end = time.perf_counter()
        seconds = end - begin
        if not repetition and len(prompt) == args.p:
            first_token_ms = (end - loaded) * 1e3
        if repetition:
            prefill.append(args.p / seconds)
            ttft.append(seconds * 1e3)
    m.forget()
    for repetition in range(args.r + 1 if args.n else 0):
        if not repetition or not m.rewind(args.depth):
            m.forget()
            for s in range(args.b if args.depth else 0):
                m.prompt(tokens[: args.depth], s)
        begin = time.perf_counter()
        for k in range(args.n):
            m.run([(tokens[(k + s) % len(tokens)], args.depth + k, s, True) for s in range(args.b)])
        seconds = time.perf_counter() - begin
        if repetition:
            decode.append(args.n * args.b / seconds)
    weights = m.L.llama_model_size(m.model)
    peer_common.print_figures(args, "llama.cpp", version, "f16", m.load_ms, first_token_ms, weights, prefill, ttft, decode, m.tokens_computed)


def main():
    parser = peer_common.arguments(__doc__)
    parser.add_argument("--repack", type=int, default=1, choices=(0, 1), help="0: weights stay as in the file, and so no AMX")
    parser.add_argument("--flash-attn", choices=FLASH_ATTN, default="auto", help="attention in one pass over the keys (default: %(default)s)")
    args = parser.parse_args()
    import llama_cpp

    model = Model(llama_cpp.llama_cpp, args)
    if args.text is not None:
        greedy_text(model)
    else:
        measure(model, llama_cpp.__version__)


if __name__ == "__main__":
    main()
