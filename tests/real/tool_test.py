#!/usr/bin/env python3
"""The tool on a real model, $LLMRT_TEST_MODELS/MODEL_NAME.gguf; skipped (77) by name where that is not there.

    tool_test.py LLMRT MODEL_NAME code C_COMPILER    the code that it writes to three prompts works
    tool_test.py LLMRT MODEL_NAME memory             what 512 tokens take at most: 1.15 x the file, the KV cache and 60 MB
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

IS_PRIME = """
from answer import is_prime
assert [n for n in range(60) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]
"""
MERGE_SORTED = """
import random
from answer import merge_sorted
for _ in range(500):
    a, b = (sorted(random.choices(range(50), k=random.randrange(9))) for _ in "ab")
    assert list(merge_sorted(list(a), list(b))) == sorted(a + b)
"""
# Behind the answer, which may have a main of its own.
GCD = """
#undef main
int main(void) {
  for (int a = 1; a < 80; ++a)
    for (int b = 1; b < 80; ++b) {
      int want = a < b ? a : b;
      while (a % want != 0 || b % want != 0) --want;
      if (gcd(a, b) != want) return 1;
    }
  return 0;
}
"""


def answer_of(tool, model, prompt):
    """The code of a greedy answer: its first block, or all of it."""
    command = [tool, "run", model, "-p", prompt, "-n", "200", "--temp", "0", "--json"]
    text = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["text"]
    print(text, flush=True)
    block = re.search(r"```\w*\n(.*?)(?:```|\Z)", text, re.S)
    return block.group(1) if block else text


def call(command, folder):
    subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL, timeout=60)


def check_code(tool, model, compiler):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "answer.py")
        for task, checks in (
            ("is_prime(n) that returns True if the integer n is a prime number and False otherwise", IS_PRIME),
            ("merge_sorted(a, b) that merges two sorted lists into one sorted list and returns it", MERGE_SORTED),
        ):
            file.write_text(answer_of(tool, model, f"Write a Python function {task}. Answer with the code only."))
            call([sys.executable, "-B", "-c", checks], folder)
        code = answer_of(tool, model, "Write a C function int gcd(int a, int b) that returns the greatest common divisor. Answer with the code only.")
        pathlib.Path(folder, "answer.c").write_text(code + GCD)
        call([compiler, "-Dmain=main_of_the_answer", "-w", "answer.c", "-o", "answer"], folder)
        call(["./answer"], folder)


def check_memory(tool, model):
    command = [tool, "bench", model, "-p", "0", "-n", "512", "-r", "1", "--json"]
    said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    file = os.stat(model).st_size
    most = 1.15 * file + said["kv_bytes"] + 60e6
    figures = f"{said['peak_rss_bytes'] / 1e6:.0f} MB at the peak, allowed {most / 1e6:.0f} (file {file / 1e6:.0f}, KV {said['kv_bytes'] / 1e6:.0f})"
    if said["peak_rss_bytes"] > most:
        sys.exit(figures)
    print(figures)


def main():
    tool, name, what = sys.argv[1:4]
    models = os.environ.get("LLMRT_TEST_MODELS")
    model = pathlib.Path(models or "", f"{name}.gguf")
    if not models or not model.exists():
        print(f"skipped {name}:", f"{model} is not there" if models else "LLMRT_TEST_MODELS is not set")
        sys.exit(77)
    if what == "code":
        check_code(tool, model, sys.argv[4])
    else:
        check_memory(tool, model)


main()
