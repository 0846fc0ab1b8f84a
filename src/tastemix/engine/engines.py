"""Engines that need to be made: `tm.engines.Dask(client)`."""

from tastemix.engine.dask import Dask

__all__ = ["Dask"]
