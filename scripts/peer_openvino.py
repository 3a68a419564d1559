#!/usr/bin/env python3
"""OpenVINO GenAI, from PyPI, on the workloads of `llmrt bench`, with its options and its JSON keys. It reads some GGUF files, and says of
others what it lacks: then this ends with status 1.

    build/peer-openvino/bin/python scripts/peer_openvino.py MODEL.gguf -p 512 -n 64 --threads 2
"""
import sys
import time

import peer_common


class Pipeline:
    def __init__(self, args):
        import numpy
        import openvino
        import openvino_genai

        self.numpy, self.openvino, self.genai = numpy, openvino, openvino_genai
        begin = time.perf_counter()
        self.pipeline = openvino_genai.LLMPipeline(args.model, "CPU", INFERENCE_NUM_THREADS=args.threads)
        self.load_ms = (time.perf_counter() - begin) * 1e3
        self.tokens_computed = 0

    def generate(self, prompts, n):
        config = self.genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = n, True, False
        ids = self.openvino.Tensor(self.numpy.array(prompts, dtype=self.numpy.int64))
        result = self.pipeline.generate(ids, config)
        self.tokens_computed += len(prompts) * (len(prompts[0]) + n - 1)
        return result


def measure(args, p):
    # Other tokens each time: the pipeline may keep what it knows of a prompt.
    def prompts(n_tokens, n_prompts, seed):
        return [peer_common.some_tokens(n_tokens, 40000, seed + i) for i in range(n_prompts)]

    prefill, ttft, decode, first_token_ms = [], [], [], None
    for repetition in range(args.r + 1 if args.p else 0):
        metrics = p.generate(prompts(args.p, 1, 7 + repetition), 1).perf_metrics
        if repetition:
            milliseconds = metrics.get_ttft().mean
            prefill.append(args.p / milliseconds * 1e3)
            ttft.append(milliseconds)
        else:
            first_token_ms = metrics.get_ttft().mean
    for repetition in range(args.r + 1 if args.n else 0):
        metrics = p.generate(prompts(max(args.depth, 1), args.b, 1007 + repetition * args.b), args.n + 1).perf_metrics
        if repetition:
            # TPOT is a step's time divided by the sequences it served (perf_metrics.cpp), so its inverse counts all of them already.
            decode.append(1e3 / metrics.get_tpot().mean)
    version = getattr(p.genai, "__version__", "unknown")
    peer_common.print_figures(args, "openvino", version, "its default", p.load_ms, first_token_ms, None, prefill, ttft, decode,
                              p.tokens_computed)


def main():
    args = peer_common.arguments(__doc__).parse_args()
    try:
        p = Pipeline(args)
    except RuntimeError as error:
        sys.exit(f"OpenVINO cannot load {args.model}: {str(error).strip().splitlines()[-1]}")
    if args.text is None:
        measure(args, p)
        return
    tokenizer = p.pipeline.get_tokenizer()
    prompt = [int(i) for i in tokenizer.encode(args.text).input_ids.data.flatten()]
    ids = [int(i) for i in p.generate([prompt], args.n).tokens[0]]
    peer_common.print_text(prompt, ids, tokenizer.decode(ids))


if __name__ == "__main__":
    main()
