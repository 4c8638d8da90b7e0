"""The consolidator: finds what is due, groups it, and asks for what is to take its place."""
