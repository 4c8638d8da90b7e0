"""The embedded store: the calls our store makes, answered as a Qdrant server does, over the embedded engine.

Run as a process of its own: ``python -m afterturn.consumers.dev.store --data-dir DIR``.
"""
