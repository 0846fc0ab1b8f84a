"""Training: phases, the training loop and early stopping."""
