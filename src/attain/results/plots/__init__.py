"""The drawing of results: plain numbers and texts in, Matplotlib axes out."""
