"""Products of factors on this machine, for whoever has factors and no session."""

from tastemix.engine._native import Catalogue, pair_products, parts

__all__ = ["Catalogue", "pair_products", "parts"]
