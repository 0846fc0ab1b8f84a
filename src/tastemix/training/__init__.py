"""The one training loop, what it runs and when it ends."""
