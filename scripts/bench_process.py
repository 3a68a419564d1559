"""One measured process: its JSON, and what it cost. Linux."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

MOST_SECONDS = 3600


def _stolen_and_all():
    """Ticks of all CPUs since boot: those that the machine below gave to others, and all."""
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


@contextlib.contextmanager
def busy_neighbour(wanted):
    """A process that keeps one CPU busy, while the body runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def measure(command, environment=None, busy=False):
    """Runs it to its end. {"figures": the JSON it prints} or {"error": why not}, and beside that cpu_s (all threads, user and system),
    switches (involuntary), peak_rss_bytes, wall_s, steal (share of all CPUs' time), load_average (of a minute, before)."""
    load_average = os.getloadavg()[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, busy_neighbour(busy):
        stolen, ticks = _stolen_and_all()
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(environment or {})})
        limit = threading.Timer(MOST_SECONDS, process.kill)
        limit.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            process.kill()
            process.wait()
            raise
        finally:
            limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        stolen_after, ticks_after = _stolen_and_all()
        out.seek(0), err.seek(0)
        said, complaint = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace").strip()
    result = {"cpu_s": usage.ru_utime + usage.ru_stime, "switches": usage.ru_nivcsw, "peak_rss_bytes": usage.ru_maxrss * 1024, "wall_s": wall,
              "steal": (stolen_after - stolen) / max(ticks_after - ticks, 1), "load_average": load_average}
    try:
        if process.returncode == 0:
            return {"figures": json.loads(said), **result}
        why = complaint.splitlines()[-1] if complaint else "no word"
    except ValueError:
        why = f"printed no JSON: {said[:80]!r}"
    return {"error": f"exit {process.returncode}: {why}", **result}
