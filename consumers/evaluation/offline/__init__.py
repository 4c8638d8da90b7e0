"""Recipes compared in seconds: the product's own reading and ranking over an exact store in memory, vectors cached."""
