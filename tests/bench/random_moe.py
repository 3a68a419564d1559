#!/usr/bin/env python3
"""Writes a qwen3moe GGUF of any shape with random weights, to time experts with: random_moe.py OUT.gguf [--experts 32 --used 4 ...]

Tokenizer and other keys are those of tests/data/models/qwen3_moe, so every engine that reads the architecture loads it; what it says is
noise. Scales are small and alike, so that no value overflows.
"""
import argparse
import pathlib
import random
import struct

TEMPLATE = pathlib.Path(__file__).parent.parent / "data/models/qwen3_moe/qwen3_moe.f16.gguf"
ALIGN = 32
# name: number in the file, elements and bytes of a block, where it keeps float16 scales
TYPES = {"q4_k": (12, 256, 144, (0, 2)), "q6_k": (14, 256, 210, (208,)), "q8_0": (8, 32, 34, (0,)), "q4_0": (2, 32, 18, (0,)),
         "f16": (1, 1, 2, ())}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of metadata values


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def template_keys():
    """name -> the bytes of its value, type first."""
    data = TEMPLATE.read_bytes()
    at = 8

    def take(fmt):
        nonlocal at
        values = struct.unpack_from("<" + fmt, data, at)
        at += struct.calcsize("<" + fmt)
        return values[0] if len(values) == 1 else values

    def skip(kind):
        nonlocal at
        if kind == 8:
            n = take("Q")  # moves `at` first
            at += n
        elif kind == 9:
            element, n = take("IQ")
            for _ in range(n):
                skip(element)
        else:
            at += SIZES[kind]

    _, n_keys = take("QQ")
    keys = {}
    for _ in range(n_keys):
        n = take("Q")
        name = data[at:at + n].decode()
        at += n
        begin = at
        skip(take("I"))
        keys[name] = data[begin:at]
    return keys


def random_blocks(rng, kind, n_elements):
    _, elements, size, scales = TYPES[kind]
    n = n_elements // elements
    if kind == "f16":  # finite and small: exponents of 2^-7 and below
        raw = bytearray(rng.randbytes(2 * n))
        raw[1::2] = bytes(b & 0xA3 for b in raw[1::2])
        return raw
    raw = bytearray(rng.randbytes(n * size))
    for scale in scales:
        low, high = struct.pack("<e", 0.0002 if kind != "q8_0" else 0.0005)
        raw[scale::size] = bytes([low]) * n
        raw[scale + 1::size] = bytes([high]) * n
    return raw


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--layers", type=int, default=8)
    p.add_argument("--embd", type=int, default=2048)
    p.add_argument("--heads", type=int, default=16)
    p.add_argument("--kv-heads", type=int, default=4)
    p.add_argument("--head-width", type=int, default=128)
    p.add_argument("--ff", type=int, default=768)
    p.add_argument("--experts", type=int, default=32)
    p.add_argument("--used", type=int, default=4)
    p.add_argument("--context", type=int, default=4096)
    p.add_argument("--type", choices=TYPES, default="q4_k")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = random.Random(a.seed)

    keys = template_keys()
    for name, value in {"block_count": a.layers, "context_length": a.context, "embedding_length": a.embd,
                        "feed_forward_length": a.ff * a.used, "attention.head_count": a.heads, "attention.head_count_kv": a.kv_heads,
                        "attention.key_length": a.head_width, "attention.value_length": a.head_width, "expert_count": a.experts,
                        "expert_used_count": a.used, "expert_feed_forward_length": a.ff}.items():
        keys["qwen3moe." + name] = struct.pack("<II", 4, value)
    keys.pop("general.file_type", None)

    n_vocab = 512  # the template's
    tensors = [("token_embd.weight", a.type, (a.embd, n_vocab)), ("output.weight", a.type, (a.embd, n_vocab)),
               ("output_norm.weight", "ones", (a.embd,))]
    for layer in range(a.layers):
        q, kv = a.heads * a.head_width, a.kv_heads * a.head_width
        tensors += [(f"blk.{layer}.{name}.weight", kind, dims) for name, kind, dims in (
            ("attn_norm", "ones", (a.embd,)), ("attn_q", a.type, (a.embd, q)), ("attn_k", a.type, (a.embd, kv)),
            ("attn_v", a.type, (a.embd, kv)), ("attn_q_norm", "ones", (a.head_width,)), ("attn_k_norm", "ones", (a.head_width,)),
            ("attn_output", a.type, (q, a.embd)), ("ffn_norm", "ones", (a.embd,)), ("ffn_gate_inp", "normal", (a.embd, a.experts)),
            ("ffn_gate_exps", a.type, (a.embd, a.ff, a.experts)), ("ffn_up_exps", a.type, (a.embd, a.ff, a.experts)),
            ("ffn_down_exps", a.type, (a.ff, a.embd, a.experts)))]

    def elements_of(dims):
        n = 1
        for d in dims:
            n *= d
        return n

    def bytes_of(kind, dims):
        if kind not in TYPES:
            return 4 * elements_of(dims)
        _, elements, size, _ = TYPES[kind]
        if dims[0] % elements:
            raise SystemExit(f"rows of {dims[0]} elements, {kind} needs a multiple of {elements}")
        return elements_of(dims) // elements * size

    with open(a.out, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)))
        for name, value in keys.items():
            out.write(string(name) + value)
        offset = 0
        for name, kind, dims in tensors:
            number = TYPES[kind][0] if kind in TYPES else 0
            out.write(string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset))
            offset += -(-bytes_of(kind, dims) // ALIGN) * ALIGN
        out.write(bytes(-out.tell() % ALIGN))
        for _, kind, dims in tensors:
            n = elements_of(dims)
            if kind == "ones":
                out.write(struct.pack("<f", 1.0) * n)
            elif kind == "normal":
                out.write(struct.pack(f"<{n}f", *(rng.gauss(0, 0.05) for _ in range(n))))
            else:
                step = 1 << 20  # a multiple of every block
                for begin in range(0, n, step):
                    out.write(random_blocks(rng, kind, min(step, n - begin)))
            out.write(bytes(-out.tell() % ALIGN))


main()
