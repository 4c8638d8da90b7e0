"""Lanes: the serial writers of a topic's partitions, each with its own transactional producer."""
