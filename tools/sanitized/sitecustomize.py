"""The compiled core is the one that TASTEMIX_NATIVE names, in this process and those it starts."""

import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location

NAME = "tastemix.engine._native"


class Finder:
    """Finds the core, and leaves every other module to others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The core's spec."""
        return (
            spec_from_file_location(name, os.environ["TASTEMIX_NATIVE"]) if name == NAME else None
        )


sys.meta_path.insert(0, Finder)
