"""What turns text into vectors and sizes: embedders, the lexical encoder, splitting and token budgets."""
