"""Write the table of docs/beside_torch.md: which settings popular packages change.

`watch_packages.py PYTHON [--check]` runs one program for each package under `interlock watch`, with an
interpreter that has the packages in the versions of pyproject.toml. With `--check` it compares the table and
fails if it differs. `make watch-packages` creates the interpreter's environment.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import interlock
from markers import between
from pages import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "beside_torch.md"
TITLE = "settings that packages change"
# As many seconds as the import of a package may take on a busy machine.
SECONDS = 600.0
# Settings whose values depend on the number of cores.
OF_THE_MACHINE = {"environ.NUMEXPR_MAX_THREADS", "torch.num_threads"}

# Downloads nothing, and writes no file outside a temporary folder.
VARIABLES = {"HF_HUB_OFFLINE": "1", "YOLO_OFFLINE": "true", "CUDA_VISIBLE_DEVICES": ""}

PROGRAMS = {
    "accelerate": """
import torch
from accelerate import Accelerator

model = torch.nn.Linear(2, 1)
accelerator = Accelerator(cpu=True)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
accelerator.backward(model(torch.ones(1, 2)).sum())
optimizer.step()
""",
    "diffusers": """
from diffusers.utils.torch_utils import enable_full_determinism

enable_full_determinism()
""",
    "fastai": """
from fastai.vision.all import set_seed

set_seed(0, reproducible=True)
""",
    "jax": """
import jax

jax.jit(lambda x: x + 1)(jax.numpy.ones(3))
""",
    "kornia": """
from kornia.feature import LightGlue

LightGlue(None, flash=False)
""",
    "lightning": """
import torch
from lightning import LightningModule, Trainer


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch):
        return self.layer(batch[0]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)))
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
Trainer(accelerator="cpu", max_epochs=1, deterministic=True, **quiet).fit(Model(), data)
""",
    "netket": """
import netket

netket.graph.Chain(4)
""",
    "numba": """
import numba


@numba.njit(parallel=True)
def total(count):
    found = 0
    for number in numba.prange(count):
        found += number
    return found


total(10)
""",
    "numpyro": """
import numpyro

numpyro.enable_x64()
""",
    "pyhf": """
import pyhf

pyhf.set_backend("jax")
""",
    "scikit-learn": """
from sklearn.ensemble import RandomForestClassifier

RandomForestClassifier(n_estimators=2, n_jobs=2).fit([[0.0], [1.0]], [0, 1])
""",
    "spacy": """
import spacy

spacy.util.fix_random_seed(0)
spacy.blank("en")("One small call.")
""",
    "timm": """
import timm
import timm.optim

model = timm.create_model("resnet18", pretrained=False)
timm.optim.create_optimizer_v2(model, "sgd")
""",
    "transformers": """
import torch
from transformers import AutoModel, BertConfig

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = AutoModel.from_config(BertConfig(vocab_size=32, **sizes), dtype=torch.bfloat16)
model(torch.zeros(1, 4, dtype=torch.long))
""",
    "ultralytics": """
from ultralytics import YOLO

import numpy

image = numpy.zeros((64, 64, 3), numpy.uint8)
YOLO("yolov8n.yaml").predict(image, device="cpu", imgsz=64, verbose=False)
""",
}
"""The import of each package and one small call, by the name of the package."""


class Watched(NamedTuple):
    """What one program changed."""

    package: str
    version: str
    document: dict[str, Any]
    """The JSON document of `watch`."""


def pinned() -> dict[str, str]:
    """Return the versions of the packages in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = project["optional-dependencies"]["watch-packages"]
    return dict(each.split("==") for each in requirements)


def installed(python: str, names: list[str]) -> dict[str, str | None]:
    """Return the versions of packages that an interpreter has; None for one that is missing."""
    code = (
        "import importlib.metadata, json, sys\n"
        "found = {each.name.lower(): each.version for each in importlib.metadata.distributions()}\n"
        "print(json.dumps({name: found.get(name) for name in sys.argv[1:]}))"
    )
    printed = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout
    found: dict[str, str | None] = json.loads(printed)
    return found


def watch(python: str, package: str, version: str) -> Watched:
    """Run the program of a package and return what it changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "modules").mkdir()
        # The interpreter may lack interlock: the extension is for every version of Python.
        (folder / "modules" / "interlock").symlink_to(Path(interlock.__file__).parent)
        program, document = folder / "program.py", folder / "found.json"
        program.write_text(PROGRAMS[package].lstrip())
        # Nothing else, so that no variable that a package writes is set.
        own = {"PATH": os.environ["PATH"], "HOME": name, "PYTHONPATH": str(folder / "modules")}
        # The program runs in another folder. The path of an environment is a link that must stay.
        command = [os.path.abspath(python), "-W", "ignore", "-m", "interlock"]
        command += ["watch", "--json", str(document), str(program)]
        done = subprocess.run(
            command, cwd=folder, env=own | VARIABLES, capture_output=True, text=True, timeout=SECONDS
        )
        if done.returncode != 0:
            raise SystemExit(f"{package} {version}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return Watched(package, version, json.loads(document.read_text()))


def rows(watched: Watched) -> Iterator[list[str]]:
    """Yield the rows of the table for one package."""
    left = {each["setting"] for each in watched.document["settings"]}
    package = f"{watched.package} {watched.version}"
    changes = [
        each
        for each in watched.document["changes"]
        if each["before"] != each["after"] or each["setting"] in OF_THE_MACHINE
    ]
    for change in changes:
        setting = change["setting"]
        # On one machine such a write changes the value, on another it does not.
        is_left = setting in left or setting in OF_THE_MACHINE
        yield [
            package,
            f"`{setting}`",
            shown(setting, change["before"]),
            shown(setting, change["after"]),
            "import" if change["at_import"] else "call",
            place(change, watched.package),
            "yes" if is_left else "no",
        ]
        package = ""
    if not changes:
        yield [package, "nothing", "", "", "", "", ""]


def shown(setting: str, value: object) -> str:
    """Return a value of a setting for the table."""
    if value is None:
        return "not set"
    return "depends on the cores" if setting in OF_THE_MACHINE else f"`{value!r}`"


def place(change: dict[str, Any], package: str) -> str:
    """Return the line that wrote, below the folder of installed packages."""
    if change["file"] is None:
        return "code that cannot be seen"
    line = f"`{change['file'].rpartition('/site-packages/')[2]}:{change['line']}`"
    other = change["distribution"]
    # A distribution may spell its name in another way.
    is_own = other is not None and other.lower() == package
    return line if is_own else f"{line} of {other or 'the program'}"


def main(arguments: list[str]) -> int:
    """Write the table, or compare it with `--check`."""
    python, *options = arguments
    versions = pinned()
    found = installed(python, list(versions))
    if found != versions:
        differing = [
            f"{name} {found[name]} instead of {versions[name]}"
            for name in versions
            if found[name] != versions[name]
        ]
        raise SystemExit(f"{python} has {', '.join(differing)}")
    columns = ("package", "setting", "before", "after", "at", "line", "stays changed")
    lines: list[list[str]] = []
    for package in PROGRAMS:
        print(f"watching {package} {versions[package]}", flush=True)
        lines += rows(watch(python, package, versions[package]))
    text = between(PAGE, TITLE, [*table(columns, lines), ""])
    if "--check" not in options:
        PAGE.write_text(text)
    elif text != PAGE.read_text():
        print(f"{PAGE.relative_to(ROOT)} differs from what the packages do: run `make watch-packages`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
