"""Step 3 of the write path, pure: what a command does to the points of its partition."""
