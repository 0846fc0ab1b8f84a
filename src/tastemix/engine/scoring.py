"""Products of factors on this machine, for whoever has factors and no session."""

from tastemix.engine._native import pair_products, top_items

__all__ = ["pair_products", "top_items"]
