"""Ratings: read, checked, numbered, split; and the data sets that are known by name."""
