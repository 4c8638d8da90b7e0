"""Keys go where the Java client, and librdkafka, put them."""

import zlib
from collections import Counter

import pytest
from aiokafka.partitioner import murmur2 as library_murmur2
from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.partitioner import murmur2, partition_for


def naive_murmur2(data: bytes) -> int:
    """Kafka's `Utils.murmur2`, line by line, with Java's 32-bit arithmetic spelt out."""

    def java_int(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    def unsigned_shift(value: int, by: int) -> int:
        return (value % 2**32) >> by

    m, r, length = 0x5BD1E995, 24, len(data)
    h = java_int(0x9747B28C ^ length)
    for i in range(length // 4):
        k = (
            (data[i * 4] & 0xFF)
            + ((data[i * 4 + 1] & 0xFF) << 8)
            + ((data[i * 4 + 2] & 0xFF) << 16)
            + ((data[i * 4 + 3] & 0xFF) << 24)
        )
        k = java_int(k * m)
        k = java_int(k ^ unsigned_shift(k, r))
        k = java_int(k * m)
        h = java_int(h * m)
        h = java_int(h ^ k)
    tail, rest = length & ~3, length % 4
    if rest == 3:
        h = java_int(h ^ ((data[tail + 2] & 0xFF) << 16))
    if rest >= 2:
        h = java_int(h ^ ((data[tail + 1] & 0xFF) << 8))
    if rest >= 1:
        h = java_int(h ^ (data[tail] & 0xFF))
        h = java_int(h * m)
    h = java_int(h ^ unsigned_shift(h, 13))
    h = java_int(h * m)
    return java_int(h ^ unsigned_shift(h, 15))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_of_the_java_clients_own_tests(key: bytes, expected: int) -> None:
    """The values of Kafka's UtilsTest.testMurmur2."""
    assert murmur2(key) == expected


@given(st.binary(max_size=64))
def test_murmur2_is_the_java_clients(key: bytes) -> None:
    assert murmur2(key) == naive_murmur2(key)
    assert murmur2(key) % 2**32 == library_murmur2(key) % 2**32


@given(st.binary(max_size=64), st.integers(1, 64))
def test_a_key_goes_where_the_java_client_puts_it(key: bytes, partitions: int) -> None:
    assert partition_for(key, partitions) == (library_murmur2(key) & 0x7FFFFFFF) % partitions


@given(st.binary(max_size=64), st.integers(1, 64))
def test_crc32_is_unsigned(key: bytes, partitions: int) -> None:
    assert partition_for(key, partitions, "crc32") == (zlib.crc32(key) % 2**32) % partitions


def test_crc32_of_the_check_value() -> None:
    """0xCBF43926 is the check value of CRC-32 for "123456789"."""
    assert partition_for(b"123456789", 1 << 31, "crc32") == 0xCBF43926 % (1 << 31)


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_keys_spread_over_all_partitions(partitioner: str) -> None:
    chosen = Counter(
        partition_for(f"tenant-{at}".encode(), 12, "crc32" if partitioner == "crc32" else "murmur2")
        for at in range(12_000)
    )
    assert set(chosen) == set(range(12))
    assert max(chosen.values()) < 1.3 * 1_000


@pytest.mark.parametrize("partitions", [0, -1])
def test_a_topic_without_partitions_is_refused(partitions: int) -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        partition_for(b"k", partitions)
