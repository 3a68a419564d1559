"""The other runtimes of scripts/bench_vs_peer.py: how they are installed, in which configurations they run, by which driver, and whether
they say the same."""
import collections
import os
import pathlib
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parent
NEARLY_EQUAL = 1.0  # logits: both sides round activations to 8 bits
EQUAL_WITHOUT_GAPS = 4  # tokens, of a peer that does not tell its logits
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# options: of the driver. only: the workloads that it is run in; None: in all. asked: only where --configs names it.
Config = collections.namedtuple("Config", "options environment only asked", defaults=((), {}, None, False))
LONG = ("prefill8k", "decode8k")
LLAMA_CPP_CONFIGS = {
    "as installed": Config(),
    "repack off": Config(("--repack", "0")),
    "2 MiB pages": Config((), HUGE_PAGES),
    "repack off and 2 MiB pages": Config(("--repack", "0"), HUGE_PAGES, asked=True),
    "flash attention on": Config(("--flash-attn", "on"), only=LONG),
    "flash attention off": Config(("--flash-attn", "off"), only=LONG),
}


def llama_cpp_build(processor_flags):
    """The environment that its compilation needs. GCC 12 moves stores into a tile's buffer past the tile load (its intrinsic does not say that
    it reads memory), and llama.cpp's AMX path then crashes on the first prompt; without the two passes it does not. They cost speed, so
    they are left out only where there are tiles."""
    no_dse = "-fno-tree-dse -fno-dse " if "amx_tile" in processor_flags else ""
    return {"CMAKE_ARGS": "-DGGML_NATIVE=ON -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAVA_BUILD=OFF", "CXXFLAGS": no_dse + "-w"}


def processor_flags():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].split() for line in lines if line.startswith(("flags", "Features"))), [])


# driver, module, what pip installs, environment of that (a function of the processor's flags), configurations
PEERS = {
    "llama.cpp": ("peer_llama_cpp.py", "llama_cpp", ["--no-binary", "llama-cpp-python", "llama-cpp-python==0.3.36"], llama_cpp_build,
                  LLAMA_CPP_CONFIGS),
    "openvino": ("peer_openvino.py", "openvino_genai", ["openvino-genai", "numpy"], lambda flags: {}, {"as installed": Config()}),
}


class Peer:
    def __init__(self, name, folder):
        self.name, self.python = name, pathlib.Path(folder) / "bin/python"
        driver, self.module, self.packages, self.build, self.configs = PEERS[name]
        self.driver = SCRIPTS / driver

    def installed(self):
        return self.python.exists() and subprocess.run([self.python, "-c", f"import {self.module}"], capture_output=True).returncode == 0

    def install(self, tell):
        if self.installed():
            return
        folder = self.python.parent.parent
        tell(f"installing {' '.join(self.packages)} into {folder}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, stdout=sys.stderr)
        subprocess.run([folder / "bin/pip", "--disable-pip-version-check", "install", *self.packages], check=True, stdout=sys.stderr,
                       env={**os.environ, **self.build(processor_flags())})

    def sides(self, chosen, workload=None):
        """"PEER/CONFIGURATION" of those to run in a workload, or in any. chosen: names of configurations; None: all that need not be asked for."""
        return [f"{self.name}/{name}" for name, c in self.configs.items()
                if (name in chosen if chosen else not c.asked) and (workload is None or c.only is None or workload in c.only)]

    def command(self, config, model, words):
        c = self.configs[config]
        return [self.python, self.driver, model, *words, *c.options], c.environment


def compared(ours, theirs):
    """{"equal", "of", "gap"} of two greedy texts; gap: how near the peer's best two logits were where they part."""
    of = min(len(ours["token_ids"]), len(theirs["token_ids"]))
    equal = next((i for i in range(of) if ours["token_ids"][i] != theirs["token_ids"][i]), of)
    gaps = theirs["gaps"]
    return {"equal": equal, "of": of, "gap": gaps[equal] if gaps and equal < of else None}


def complaint_about(text, ours, theirs):
    """None: both sides run the same model on the same prompt."""
    n_ours, n_theirs = ours["usage"]["prompt_tokens"], theirs["prompt_tokens"]
    if n_ours != n_theirs:
        return f"the text has {n_ours} tokens with llmrt and {n_theirs} with the peer"
    if text["equal"] == text["of"] > 0:
        return None
    if theirs["gaps"] is None:
        return None if text["equal"] >= EQUAL_WITHOUT_GAPS else f"only {text['equal']} tokens are equal"
    return None if text["gap"] < NEARLY_EQUAL else f"token {text['equal']} differs, where the peer's best logit leads by {text['gap']:.2f}"
