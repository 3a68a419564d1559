"""One measured process: its JSON, and what it cost. Linux."""
import collections
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


Ticks = collections.namedtuple("Ticks", "busy stolen all")  # of all CPUs since boot


def ticks_of(stat):
    """From the text of /proc/stat. Guests' time is in user's already; what the machine below gave to others is nobody's here."""
    user, nice, system, idle, waiting, irq, softirq, stolen = (int(word) for word in stat.split("\n", 1)[0].split()[1:9])
    busy = user + nice + system + irq + softirq
    return Ticks(busy, stolen, busy + idle + waiting + stolen)


def _ticks():
    return ticks_of(pathlib.Path("/proc/stat").read_text())


def shares(before, after, own_s, n_cpus, ticks_a_second):
    """Of all CPUs' time between two Ticks: stolen, and spent by others than own_s seconds. A CPU's time is counted by whole ticks, so of
    each CPU one is forgiven."""
    all_ticks = max(after.all - before.all, 1)
    foreign = after.busy - before.busy - own_s * ticks_a_second - n_cpus
    return {"steal": (after.stolen - before.stolen) / all_ticks, "foreign": max(foreign, 0) / all_ticks}


@contextlib.contextmanager
def busy_neighbour(wanted):
    """A process that keeps one CPU busy, while the body runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield process
    finally:
        if process:
            process.kill()
            process.wait()


def _cpu_seconds(process):
    """Of a process that runs; 0 of None."""
    if not process:
        return 0.0
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measure(command, environment=None, busy=False):
    """Runs it to its end. {"figures": the JSON it prints} or {"error": why not}, and beside that cpu_s (all threads, user and system),
    switches (involuntary; some kernels count sched_yield among them), peak_rss_bytes, wall_s, steal and foreign (shares(), the busy neighbour
    being none of the others), load_average (of a minute, before)."""
    load_average = os.getloadavg()[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, busy_neighbour(busy) as neighbour:
        before, neighbour_s = _ticks(), _cpu_seconds(neighbour)
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
        after, neighbour_s = _ticks(), _cpu_seconds(neighbour) - neighbour_s
        out.seek(0), err.seek(0)
        said, complaint = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace").strip()
    cpu_s = usage.ru_utime + usage.ru_stime
    result = {"cpu_s": cpu_s, "switches": usage.ru_nivcsw, "peak_rss_bytes": usage.ru_maxrss * 1024, "wall_s": wall,
              **shares(before, after, cpu_s + neighbour_s, os.cpu_count(), os.sysconf("SC_CLK_TCK")), "load_average": load_average}
    try:
        if process.returncode == 0:
            return {"figures": json.loads(said), **result}
        why = complaint.splitlines()[-1] if complaint else "no word"
    except ValueError:
        why = f"printed no JSON: {said[:80]!r}"
    return {"error": f"exit {process.returncode}: {why}", **result}
