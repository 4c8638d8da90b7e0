"""Summaries of groups of memories: without a model by extract, or by any OpenAI-compatible endpoint."""
