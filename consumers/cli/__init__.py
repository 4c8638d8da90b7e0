"""The one composition root: a module a command group. Settings are read here, and nowhere below."""
