"""Models as folders of Parquet and JSON files."""

from tastemix.persistence.folder import check as check_folder
from tastemix.persistence.format import load, save

__all__ = ["check_folder", "load", "save"]
