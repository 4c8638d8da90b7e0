"""Which Kafka the tests run on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kafka import KINDS, KafkaBroker, Kind, NoKafka, candidates, start_first

MISSING = st.fixed_dictionaries({kind: st.sampled_from([None, "missing"]) for kind in KINDS})


def without(*missing: Kind) -> dict[Kind, str | None]:
    return {kind: "it is missing" if kind in missing else None for kind in KINDS}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ((), ("env",)),
        (("env",), ("docker", "apache", "embedded")),
        (("env", "docker"), ("apache", "embedded")),
        (("env", "docker", "apache"), ("embedded",)),
        (("env", "apache"), ("docker", "embedded")),
    ],
)
def test_the_order(missing: tuple[Kind, ...], expected: tuple[Kind, ...]) -> None:
    assert candidates(without(*missing), require_real=False) == expected


def test_a_real_kafka_can_be_required() -> None:
    assert candidates(without("env", "docker"), require_real=True) == ("apache",)
    with pytest.raises(NoKafka, match=r"apache: it is missing.*AFTERTURN_REQUIRE_REAL_KAFKA"):
        candidates(without("env", "docker", "apache"), require_real=True)


def test_nothing_at_all_says_what_was_looked_for() -> None:
    with pytest.raises(NoKafka, match=r"env: it is missing; docker: it is missing; apache: .*; embedded: "):
        candidates(without(*KINDS), require_real=False)


@given(MISSING, st.booleans())
def test_nothing_is_tried_that_is_missing_or_ruled_out(missing: dict[Kind, str | None], real: bool) -> None:
    try:
        found = candidates(missing, require_real=real)
    except NoKafka:
        assert all(missing[kind] for kind in KINDS if not (real and kind == "embedded"))
        return
    assert list(found) == [kind for kind in KINDS if kind in found], "in order"
    assert all(missing[kind] is None for kind in found)
    assert not (real and "embedded" in found)


def test_what_does_not_start_is_said_and_the_next_is_tried() -> None:
    def start(kind: Kind) -> KafkaBroker:
        if kind == "apache":
            raise RuntimeError("Maven got nothing")
        return KafkaBroker("127.0.0.1:1", kind)

    broker, notes = start_first(["apache", "embedded"], start)
    assert broker.kind == "embedded"
    assert notes == ("apache did not start: Maven got nothing",)
    with pytest.raises(NoKafka, match="Maven got nothing"):
        start_first(["apache"], start)


def test_a_broker_named_by_the_environment_is_not_ours_to_kill() -> None:
    broker = KafkaBroker("kafka:9092", "env")
    assert not broker.ours
    for end in (broker.kill, broker.restart):
        with pytest.raises(NoKafka):
            end()
    broker.stop()
