"""Models as folders of Parquet and JSON files."""

from tastemix.persistence.format import load, save

__all__ = ["load", "save"]
