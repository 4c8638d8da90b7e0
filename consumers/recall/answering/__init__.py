"""How a question is answered: asked, found, ranked, shown; what an answer waits for, and how it is told."""
