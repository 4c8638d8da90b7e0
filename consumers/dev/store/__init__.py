"""The embedded store: the calls our store makes, answered as a Qdrant server does, over the embedded engine.

Run as a process of its own: ``python -m afterturn.consumers.dev.store --data-dir DIR``, with ``ENVIRONMENT`` set.
"""

from collections.abc import Mapping

ENVIRONMENT: Mapping[str, str] = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000"}
"""For the process: an answer makes and frees thousands of small blocks. The default cache of 7 of each size spills into
the fragmented heap of a store that has taken many writes, where each costs a search (``make bench``, growth)."""
