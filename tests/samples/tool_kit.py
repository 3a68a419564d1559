"""What the tests of the tool share."""
import os
import subprocess


def run(tool, args, **env):
    """(exit status, standard output, standard error)"""
    done = subprocess.run([tool, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={**os.environ, **env})
    return done.returncode, done.stdout.decode(), done.stderr.decode()
