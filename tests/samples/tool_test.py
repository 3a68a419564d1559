#!/usr/bin/env python3
"""What the tool says about a command line it cannot do, and with which exit status.

    tool_test.py LLMRT MODEL MODEL_WITHOUT_A_TEMPLATE

A case: arguments, exit status, words that standard error has, words that it lacks. M and T stand for the models.
"""
import fcntl
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from tool_kit import run

CASES = [
    # commands and options
    ([], 2, ["a command is missing", "perplexity"]),
    (["foo"], 2, ["foo is no command", "run, chat"]),
    (["--bogus"], 2, ["--bogus is no option of llmrt "]),
    (["run", "M", "--tmp", "1", "hi"], 2, ["--tmp is no option of llmrt run"], [" hi"]),
    (["perplexity", "M", "--tmp"], 2, ["--tmp is no option"], ["FILE"]),
    (["run", "M", "hi", "-x"], 2, ["-x is no option"]),
    (["run"], 2, ["MODEL is required"]),
    (["run", "M", "hi", "there"], 2, ['unexpected argument "there"', "quotes"]),
    (["doctor", "M", "there"], 2, ['unexpected argument "there"'], ["quotes"]),
    (["run", "M", "hi", "-p"], 2, ["--prompt: its value is missing"]),
    (["run", "M", "-n", "3", "-n", "4", "hi"], 2, ["--max-tokens is given 2 times"]),
    # a prompt that looks like an option
    (["run", "M", "-hi"], 2, ["-hi is no option of llmrt run", "goes behind -p"]),
    (["run", "M", "-x"], 2, ["-x is no option of llmrt run", "goes behind -p"]),
    (["run", "M", "hi", "-x"], 2, ["-x is no option of llmrt run"], ["behind"]),
    (["chat", "M", "-hi"], 2, ["-hi is no option of llmrt chat"], ["behind"]),
    (["run", "M", "--", "-hi", "-n", "3"], 2, ['unexpected argument "-n"', "behind --"], ["no option of"]),
    (["chat", "M", "--", "-x"], 2, ['unexpected argument "-x"', "llmrt chat --help"], ["no option of"]),
    (["run", "M", "-p", "-hi"], 0, []),
    (["run", "M", "--", "-hi"], 0, []),
    # values: what is no number
    (["run", "M", "--seed", "abc", "hi"], 2, ['--seed: "abc"; wanted is a whole number']),
    (["run", "M", "--seed", "", "hi"], 2, ['--seed: ""; wanted is a whole number']),
    (["run", "M", "--top-k", "99999999999", "hi"], 2, ["--top-k: 99999999999 is beyond 32 bits"]),
    (["run", "M", "--temp", "zz", "hi"], 2, ['--temp: "zz"; wanted is a number']),
    (["run", "M", "--temp", "1e-1", "--top-k", "0x10", "hi"], 0, []),
    (["bench", "M", "-r", "x"], 2, ['-r: "x"; wanted is a whole number']),
    # values: the option is named as it was typed, out of range is usage
    (["run", "M", "-n", "-5", "hi"], 2, ["--max-tokens is -5"], ["max_tokens"]),
    (["run", "M", "-t", "-1", "hi"], 2, ["--threads is -1"]),
    (["run", "M", "-t", "100000", "hi"], 2, ["--threads is 100000"]),
    (["run", "M", "--ctx", "-1", "hi"], 2, ["--ctx is -1"], ["ctx_tokens"]),
    (["run", "M", "--samples", "0", "hi"], 2, ["--samples is 0"]),
    (["run", "M", "--n", "0", "hi"], 2, ["--n is 0"]),
    (["run", "M", "--temp", "-7", "hi"], 2, ["--temp is -7"], ["temperature is"]),
    (["run", "M", "--dry-base", "0.5", "hi"], 2, ["--dry-base is 0.5"]),
    (["run", "M", "--dry-allowed-length", "-1", "hi"], 2, ["--dry-allowed-length is -1"]),
    (["run", "M", "--stall-timeout-ms", "-1", "hi"], 2, ["--stall-timeout-ms is -1"]),
    (["run", "M", "--seed", "9223372036854775807", "--samples", "0", "hi"], 2, ["--samples is 0"]),
    (["run", "M", "--seed", "9223372036854775808", "hi"], 2, ["--seed", "9223372036854775808"]),
    (["run", "M", "--stop", "\udcff", "hi"], 1, ["--stop: not UTF-8: byte 0xff at offset 0"]),
    (["run", "M", "--chat-template", "/dev/zero", "hi"], 1, ["--chat-template /dev/zero: this is neither"]),
    (["run", "M", "--chat-template", "TMP/none", "hi"], 1, ["TMP/none: no such file"]),
    (["run", "M", "--sampler-chain", "nope", "hi"], 2, ["--sampler-chain: unknown step"]),
    (["run", "M", "--sampler-chain", "", "--temp", "1", "hi"], 0, []),
    (["run", "M", "--logit-bias", "[]", "hi"], 2, ["--logit-bias"], ["logit_bias"]),
    (["run", "M", "--device", "zz", "hi"], 2, ["--device", '"zz"']),
    (["run", "M", "--override", "x", "hi"], 2, ["--override x", "KEY=VALUE"]),
    (["run", "M", "--load-mode", "map", "hi"], 2, ["--load-mode map", "auto, mmap, read or raw"]),
    (["run", "M", "--load-mode", "raw", "hi"], 0, []),
    (["run", "M", "--cache-dir", "TMP/", "hi"], 0, [], ["kept", "packed"]),
    (["run", "M", "--cache-dir", "TMP/", "hi"], 0, [], ["kept", "packed"]),  # from there
    (["run", "M", "--cache-dir", "TMP/none", "hi"], 0, ["TMP/none", "are not kept", "no such folder"]),
    (["run", "M", "--cache-dir", "TMP/", "--load-mode", "raw", "hi"], 2, ["--cache-dir", "--load-mode raw"]),
    (["logits", "M", "--cache-dir", "TMP/", "--tokens", "1", "--out", "TMP/out"], 2, ["--cache-dir is no option"]),
    (["inspect", "M", "--load-mode", "mmap"], 0, []),
    (["inspect", "M", "--cache-dir", "TMP/"], 2, ["--cache-dir is no option"]),  # it loads no weights
    (["run", "M", "--override", 'x={"a":1}', "hi"], 2, ["--override: key"], ["metadata_overrides"]),
    (["perplexity", "M", "TMP/text", "--ctx", "1"], 2, ["--ctx is 1"]),
    (["perplexity", "M", "TMP/text", "--windows", "-3"], 2, ["--windows is -3"]),
    (["bench", "M", "-r", "0"], 2, ["-r is 0"]),
    (["bench", "M", "-p", "9000000"], 2, ["-p is 9000000"]),
    (["bench", "M", "-p", "0", "-n", "0"], 2, ["-p and -n"]),
    # inspect's plan is part of the answer
    (["inspect", "M", "--kv-type", "zz"], 2, ["--kv-type"]),
    (["inspect", "M", "--ctx", "999999999"], 2, ["--ctx is 999999999"]),
    (["inspect", "M", "--device", "zz"], 2, ["--device"]),
    (["inspect", "M", "--all"], 2, ["--json"]),
    # options of another command, or of another way to use this one
    (["doctor", "-t", "1"], 2, ["-t is no option of llmrt doctor"]),
    (["doctor", "--device", "cpu"], 2, ["MODEL"]),
    (["logits", "M", "--tokens", "1", "--out", "TMP/out", "--ctx", "5"], 2, ["--ctx is no option"]),
    (["tokenize", "M", "--device", "cpu", "hi"], 2, ["--device is no option"]),
    (["chat", "M", "--logprobs", "3"], 2, ["--logprobs is no option"]),
    (["run", "M", "--logprobs", "3", "hi"], 2, ["--logprobs", "--json"]),
    (["run", "M", "--json", "--logprobs-processed", "hi"], 2, ["--logprobs-processed belongs to --logprobs"]),
    (["run", "M", "--raw", "--system", "x", "hi"], 2, ["--system"]),
    (["run", "M", "--raw", "--chat-template", "chatml", "hi"], 2, ["--chat-template"]),
    (["render", "--template", "TMP/fails.jinja", "--messages", "TMP/chat", "--override", "a=b"], 2, ["--override"]),
    # a model without a template: what this command has against it
    (["run", "T", "hi"], 1, ["--chat-template NAME|FILE, or --raw for"]),
    (["chat", "T"], 1, ["--chat-template NAME|FILE, or llmrt run --raw"]),
    (["render", "T", "--messages", "TMP/chat"], 1, ["--chat-template NAME|FILE"], ["--raw"]),
    # files are named, with the place
    (["perplexity", "M", "TMP/ff"], 1, ["TMP/ff: not UTF-8: byte 0xff at offset 2"]),
    (["tokenize", "M", "-f", "TMP/ff"], 1, ["TMP/ff: not UTF-8: byte 0xff at offset 2"]),
    (["run", "M", "-f", "TMP/ff"], 1, ["TMP/ff: not UTF-8: byte 0xff at offset 2"]),
    (["render", "M", "--messages", "TMP/ff"], 1, ["TMP/ff", "offset 2"]),
    (["render", "M", "--messages", "TMP/chat", "--tools", "TMP/brace"], 1, ["TMP/brace: not JSON at byte 1"]),
    (["render", "M", "--messages", "TMP/chat", "--kwargs", "TMP/brace"], 1, ["TMP/brace: not JSON at byte 1"]),
    (["render", "--template", "TMP/fails.jinja", "--messages", "TMP/chat"], 1, ["TMP/fails.jinja, line 1"]),
    (["perplexity", "M", "TMP/text", "--ctx", "32", "--kl-base", "TMP/none"], 1, ["TMP/none"], ["window"]),
    (["perplexity", "M", "TMP/text", "--ctx", "32", "--kl-base", "TMP/text"], 1, ["TMP/text", "float32"], ["window"]),
    # an empty prompt
    (["run", "M"], 2, ["no prompt was given, and standard input is empty"]),
    (["run", "M", "-p", ""], 2, ["empty"]),
    (["run", "M", "-f", "TMP/empty"], 2, ["empty"]),
    # what cut an answer off
    (["run", "M", "hi"], 0, [], ["stopped", "full"]),
    (["run", "M", "--raw", "a", "-n", "3"], 0, ["stopped after 3 tokens; -n raises it"]),
    (["run", "M", "--raw", "a", "-n", "3", "--json"], 0, [], ["stopped"]),
    (["run", "M", "--raw", "a", "-n", "0"], 0, [], ["stopped"]),
    (["run", "M", "--raw", "a", "-n", "-1", "--ctx", "64"], 0, ["the context of 64 tokens is full; --ctx raises it"]),
    # a context beyond the model's
    (["run", "M", "hi", "--ctx", "512"], 0, [], ["beyond"]),
    (["run", "M", "hi", "--ctx", "600"], 0, ["--ctx 600 is beyond the 512 tokens the model was trained for"]),
    (["inspect", "M", "--ctx", "600"], 0, ["--ctx 600 is beyond the 512 tokens"]),
    # a text that begins with more than one byte
    (["perplexity", "M", "TMP/text", "--ctx", "32", "--windows", "1"], 0, ["window 1 of 1"]),
]


def catches_interrupts(pid):
    caught = [s for s in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if s.startswith("SigCgt")]
    return int(caught[0].split()[1], 16) >> (signal.SIGINT - 1) & 1 if caught else True


def interrupted_talk(command, first, rest):
    """Ctrl-C comes while the answer to the first line waits for a reader of standard output; then come the other lines."""
    chat = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    fcntl.fcntl(chat.stdout, fcntl.F_SETPIPE_SZ, 4096)
    chat.stdin.write(first)

    def n_unread():
        return struct.unpack("i", fcntl.ioctl(chat.stdout, termios.FIONREAD, bytes(4)))[0]

    n = 0
    while chat.poll() is None and (n < 4000 or n != n_unread()):  # until the pipe is full
        n = n_unread()
        time.sleep(0.1)
    chat.send_signal(signal.SIGINT)
    out, err = chat.communicate(rest, timeout=60)
    return chat.returncode, out, err


def vocabulary():
    """A GGUF file without tensors."""

    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    tokens = ["a", "b"]
    keys = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("gpt2"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(text, tokens)),
        text("tokenizer.ggml.merges") + struct.pack("<IIQ", 9, 8, 1) + text("a b"),
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(keys)


def main():
    tool, model, plain = sys.argv[1:4]
    failures = []

    def expect(what, good, said):
        if not good:
            failures.append(f"{what}: {said}")

    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "ff").write_bytes(b"\xc3\xa9\xff")
        (files / "brace").write_text("{bad")
        (files / "empty").write_text("")
        (files / "chat").write_text('[{"role": "user", "content": "hi"}]')
        (files / "fails.jinja").write_text("{{ raise_exception('no') }}")
        (files / "bare.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
        (files / "text").write_text("\u00e9t\u00e9 " * 40)
        (files / "vocabulary").write_bytes(vocabulary())

        for args, status, has, *lacks in CASES:
            words = [{"M": model, "T": plain}.get(a, a).replace("TMP/", folder + "/") for a in args]
            got, out, err = run(tool, words)
            shown = err.replace(folder + "/", "TMP/")
            good = got == status and all(w in shown for w in has) and not any(w in shown for w in sum(lacks, []))
            expect(" ".join(args), good and (status == 0 or not out), f"exit {got}, {shown.strip()!r}, output {out[:80]!r}")

        waiting = subprocess.Popen([tool, "run", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while waiting.poll() is None and not catches_interrupts(waiting.pid):
            time.sleep(0.01)
        while waiting.poll() is None:  # one may come just before it reads
            waiting.send_signal(signal.SIGINT)
            time.sleep(0.05)
        out, err = waiting.communicate(timeout=60)
        expect("interrupted at its prompt", waiting.returncode == 130 and not out, (waiting.returncode, err))
        chat = subprocess.run([tool, "chat", model, "-n", "-5"], input=b"hi\nhi\n", capture_output=True, timeout=60)
        expect("chat, wrong option", chat.returncode == 2 and b"--max-tokens is -5" in chat.stderr, chat)
        talk = b"/regen\n/undo\n/stats\nhi\n/undo\n/system x\n/clear\n"
        chat = subprocess.run([tool, "chat", model, "--temp", "0", "-n", "4"], input=talk, capture_output=True, timeout=60)
        said = [
            "(nothing to answer again)",
            "(nothing to forget)",
            "(no answer yet)",
            "(stopped after 4 tokens; -n raises it)",
            "(forgotten)",
            "(started again)",
            "(started again)",
        ]
        expect("chat, commands", chat.returncode == 0 and chat.stdout == b"1234\n" and chat.stderr.decode().splitlines() == said, chat)
        # with this template the answer to "a" never ends, that to "0" is "123456789"
        words = ["chat", model, "--chat-template", str(files / "bare.jinja"), "-n", "-1", "--ctx", "65536", "--temp", "0"]
        for way_out in (b"/quit\n", b""):
            status, out, err = interrupted_talk([tool, *words], b"a\n", b"0\n" + way_out)
            stopped, _, answered = out.partition(b"\n")
            good = status == 0 and stopped.startswith(b"bcd") and answered == b"123456789\n" and b"(stopped)" in err
            expect("chat, interrupted answer", good, (status, out, err))
        got, out, err = run(tool, ["run", model, "hi", "-n", "3", "--temp", "0", "--samples", "2"])
        expect("samples", got == 0 and out == "123\n\n123\n" and "sample 1 of 2" in err and "sample 2 of 2" in err, (got, out, err))
        got, out, err = run(tool, ["inspect", model])
        expect("inspect, one conversation", got == 0 and "one conversation of 512 tokens: " in out and "for several at once" in out, (got, out, err))
        got, out, err = run(tool, ["inspect", str(files / "vocabulary")])
        expect("inspect a vocabulary", got == 0 and "no plan" in out, (got, out, err))
        got, out, err = run(tool, ["inspect", str(files / "vocabulary"), "--kv-type", "zz"])
        expect("inspect a vocabulary, wrong option", got == 2 and "--kv-type" in err, (got, out, err))
        got, out, err = run(tool, ["inspect", model, "--override", "llama.context_length=64"])
        expect("the plan knows overrides", got == 0 and "longest context that fits: 64\n" in out, (got, out, err))
        got, out, err = run(tool, ["doctor"], LLMRT_CPU_ISA="nope")
        expect("doctor, unknown kernels", got == 0 and "LLMRT_CPU_ISA=nope is unknown and ignored, allowed here: " in out, (got, out, err))
        got, out, err = run(tool, ["run", model, "hi", "-n", "1"], LLMRT_CPU_ISA="nope")
        warned = err.startswith("llmrt: LLMRT_CPU_ISA=nope is unknown or cannot run here, and ignored: using ") and " scalar\n" in err
        expect("run, unknown kernels", got == 0 and warned, (got, out, err))
        got, out, err = run(tool, ["doctor", model])
        words = ["\nsystem: ", ", Linux ", "model: case, llama, F32, hash ", "one conversation of 512 tokens: "]
        expect("doctor of a model", got == 0 and all(w in out for w in words) and "{" not in out, (got, out, err))
    if failures:
        sys.exit("\n".join(failures))
    print(len(CASES) + 12, "cases held")


main()
