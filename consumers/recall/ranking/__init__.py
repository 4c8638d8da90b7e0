"""From hits to a ranking: pure functions of values."""
