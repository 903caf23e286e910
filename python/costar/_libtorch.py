"""Finds libtorch before the extension module, which needs it, is loaded.

An installed PyTorch provides it, since a process can hold only one libtorch. Without PyTorch, the module loads the one
that ``scripts/setup`` put into the checkout where the module was built.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

#: The version of libtorch that costar is built for.
VERSION = "2.11"


def load() -> None:
    """Loads the libtorch of an installed PyTorch; does nothing without PyTorch.

    Raises:
        ImportError: the installed PyTorch has another version.
    """
    if "torch" not in sys.modules and importlib.util.find_spec("torch") is None:
        return
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return  # a folder that happens to have this name
    if found.split("+")[0].rsplit(".", 1)[0] != VERSION:
        raise ImportError(
            f"costar needs PyTorch {VERSION}, and {found} is installed: install torch {VERSION}, or use an environment "
            "without PyTorch"
        )
    import torch  # noqa: F401
