"""Which partition a key belongs to. Pure: the two partitioners that Kafka's clients agree on.

`murmur2` is the default of the Java client (`Utils.murmur2`, `Utils.toPositive`), of this one, and `murmur2_random`
of librdkafka. `crc32` is librdkafka's own default, `consistent_random`. One tenant's commands must be in one
partition, so every publisher of a turn log uses the same one; the recorder checks it.
"""

from functools import lru_cache
from typing import Literal
from zlib import crc32

__all__ = ("Partitioner", "murmur2", "partition_for")

Partitioner = Literal["murmur2", "crc32"]

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(key: bytes) -> int:
    """The 32-bit MurmurHash2 of a key as the Java client computes it: signed, little-endian, Kafka's seed."""
    length = len(key)
    whole = length - length % 4
    h = _SEED ^ length
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < length:
        h = (h ^ int.from_bytes(key[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


@lru_cache(maxsize=8_192)
def partition_for(key: bytes, partitions: int, partitioner: Partitioner = "murmur2") -> int:
    """The partition of a key in a topic of `partitions` partitions.

    Raises:
        ValueError: when there is no partition to choose from.
    """
    if partitions < 1:
        raise ValueError(f"a topic has at least one partition, not {partitions}")
    if partitioner == "crc32":
        return crc32(key) % partitions
    return (murmur2(key) & 0x7FFFFFFF) % partitions
