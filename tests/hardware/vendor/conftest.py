"""Fixtures of tests with the real vendor libraries, which need 4 GB and are skipped by `make test`."""

from __future__ import annotations

import os

import pytest

# Variables that affect library search or the libraries, besides interlock's own.
OTHERS = ("LD_", "CUDA_", "CUDNN_", "CONDA_", "MKL_", "ONEDNN_", "DNNL_", "OMP_", "KMP_", "GOMP_", "NCCL_")


@pytest.fixture(autouse=True)
def clean_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the test if the libraries are not installed; unset variables that affect them.

    With `--vendor` they must be installed: a missing library is a failure.
    """
    if not request.config.getoption("--vendor"):
        pytest.skip("needs the libraries that make test-vendor installs, and its option --vendor")
    for name in [name for name in os.environ if name.startswith(OTHERS)]:
        monkeypatch.delenv(name)
