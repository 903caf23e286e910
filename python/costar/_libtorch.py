"""Finds libtorch before the extension module is loaded, which needs it.

That of an installed PyTorch is used, for a process can hold one libtorch only. Without a PyTorch, it is the one that
``scripts/setup`` put into the checkout that the module was built in; the module knows its place.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

#: The version of libtorch that costar is built for.
VERSION = "2.11"


def load() -> None:
    """Loads the libtorch of an installed PyTorch; does nothing where there is none.

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
