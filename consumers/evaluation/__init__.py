"""Recall quality measured without a model: conversations in, questions asked, evidence looked for."""
