"""A model as a folder of open files."""

from tastemix.persistence.format import load, save

__all__ = ["load", "save"]
