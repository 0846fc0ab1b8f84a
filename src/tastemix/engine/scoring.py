"""Scores on this machine, for whoever has factors or links and no session."""

from tastemix.engine._native import Catalogue, Linked, best_items, pair_products, parts

__all__ = ["Catalogue", "Linked", "best_items", "pair_products", "parts"]
