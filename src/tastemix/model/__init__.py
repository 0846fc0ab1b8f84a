"""A fitted model: predictions, recommendations and where they come from."""
