"""How good a method is: metrics, cross-validation, and a search for the best."""
