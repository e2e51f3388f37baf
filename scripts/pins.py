"""Write constraints.txt anew: the exact version of everything that `make` installs, and of what builds the package.

    python scripts/pins.py                   keep the pins there are, add what is missing, drop what is not needed
    python scripts/pins.py --upgrade ray     choose the newest version that fits for these packages
    python scripts/pins.py --upgrade all     ... for all but those in HELD

pip itself resolves, without installing anything, from the same indexes and folders that `make setup` uses. Pins are
made for the Python that runs this; a pin of a package that another platform does not need does nothing there.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "constraints.txt"

# Upgraded only when named: which build is offered, CPU or CUDA (gigabytes), depends on the version and the index.
HELD = {"torch"}

# hatchling asks for it when it builds an editable install; this stands nowhere but in its code.
EDITABLE_BUILD = ["editables"]

HEAD = """\
# The exact versions that `make` and continuous integration install, so that a run can be repeated.
# Written by `make pins`, which keeps these versions, adds what is missing and drops what is no longer needed.
# `make pins UPGRADE="ray optuna"` takes the newest of those packages, `make pins UPGRADE=all` of all but torch.
# The ranges are in pyproject.toml. Run the checks, then commit both together.
# No hashes and no build suffix (+cpu): builds of torch differ between indexes. Left out: the packages that a CUDA
# build of torch brings along.
"""
INSTALLED = "# what `make setup` installs"
BUILD = "# what builds the package; not installed"


def normal(name: str) -> str:
    """The name as PEP 503 spells it, by which two spellings of one package are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(text: str) -> dict[str, str]:
    """Normal name -> version, of the lines `name==version` of a constraints file, without markers and comments."""
    pins = {}
    for line in text.splitlines():
        if found := re.match(r"([A-Za-z0-9._-]+)==([^\s;#]+)", line):
            pins[normal(found[1])] = found[2]
    return pins


def kept(pins: dict[str, str], upgrade: list[str]) -> dict[str, str]:
    """The pins that stay as they are."""
    named = {normal(name) for name in upgrade}
    if unknown := named - pins.keys() - {"all"}:
        raise SystemExit(
            f"error: {PINS.name} has no pin of {', '.join(sorted(unknown))}; give names that stand in it, or all"
        )
    return {
        name: version for name, version in pins.items() if name not in named and ("all" not in named or name in HELD)
    }


def resolve(requirements: list[str], pins: dict[str, str]) -> dict[str, str]:
    """Normal name -> version of all that pip would install for the requirements in an empty environment.

    The package itself is left out, and so are local suffixes of versions. Fails as pip does, whose message is shown.
    """
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        constraints.write_text(lines(pins), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        options = ["--dry-run", "--ignore-installed", "--report", str(report), "--constraint", str(constraints)]
        subprocess.run([*pip, *options, *requirements], cwd=ROOT, check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    versions = {normal(item["metadata"]["name"]): item["metadata"]["version"].partition("+")[0] for item in found}
    versions.pop("mpxgat", None)
    return versions


def lines(pins: dict[str, str]) -> str:
    """A line for each pin, sorted by name."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


def main() -> None:
    """Write constraints.txt and say what has changed."""
    parser = argparse.ArgumentParser(description="Write constraints.txt anew.")
    parser.add_argument("--upgrade", nargs="+", default=[], metavar="NAME", help="packages to upgrade, or all")
    before = read_pins(PINS.read_text(encoding="utf-8"))
    keep = kept(before, parser.parse_args().upgrade)

    installed = resolve(["--editable", ".[dev]"], keep)
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    build = resolve([*backend, *EDITABLE_BUILD], keep | installed)
    build = {name: version for name, version in build.items() if name not in installed}

    PINS.write_text(f"{HEAD}\n{INSTALLED}\n{lines(installed)}\n{BUILD}\n{lines(build)}", encoding="utf-8")
    after = installed | build
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            print(f"{name}: {before.get(name, 'not pinned')} -> {after.get(name, 'no longer needed')}")
    print(f"{PINS.name}: {len(installed)} installed, {len(build)} to build")


if __name__ == "__main__":
    main()
