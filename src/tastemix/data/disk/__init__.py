"""Ratings on disk: a folder of sorted halves that are mapped, and how it is made."""
