"""`tastemix serve`: a model over HTTP, and the page where people see their tastes."""
