"""The HTTP surface of recall."""
