"""What the topics should be, and what is said where they are not."""

from dataclasses import dataclass, field, replace

import pytest

from afterturn.streams.kafka import TopicInfo
from afterturn.streams.topics import Difference, TopicNames, TopicPlan, TopicShape, create_or_check, differences, plans

PLAN = plans(TopicNames(), TopicShape(partitions=12, replication=3))[0]
RIGHT = TopicInfo(PLAN.name, 12, 3, dict(PLAN.config))


def with_config(**changes: str | None) -> TopicInfo:
    config = {**RIGHT.config, **{name.replace("__", "."): value for name, value in changes.items()}}
    return replace(RIGHT, config={name: value for name, value in config.items() if value is not None})


@dataclass
class KeptTopics:
    """Topics in memory: what `create_or_check` asks of an admin client."""

    kept: dict[str, TopicInfo] = field(default_factory=dict[str, TopicInfo])

    async def topic(self, name: str) -> TopicInfo | None:
        return self.kept.get(name)

    async def create(self, topic: TopicInfo) -> bool:
        assert topic.name not in self.kept
        self.kept[topic.name] = topic
        return True


def test_names_stand_below_the_prefix() -> None:
    assert [plan.name for plan in plans(TopicNames(), TopicShape())] == [
        "afterturn.turns",
        "afterturn.memory-events",
        "afterturn.dead-letter",
    ]
    assert TopicNames("staging").turns == "staging.turns"


def test_all_three_have_the_partitions_of_the_turn_log_and_the_brokers_clock() -> None:
    for plan in plans(TopicNames(), TopicShape(partitions=7)):
        assert plan.partitions == 7
        assert plan.config["message.timestamp.type"] == "LogAppendTime"
        assert plan.config["cleanup.policy"] == "delete"
        assert plan.config["unclean.leader.election.enable"] == "false"


def test_a_dead_letter_holds_the_largest_turn_and_64_kib_of_headers() -> None:
    turns, _, dead_letters = plans(TopicNames(), TopicShape())
    assert int(turns.config["max.message.bytes"]) == 2.25 * 1024 * 1024
    assert int(dead_letters.config["max.message.bytes"]) == int(turns.config["max.message.bytes"]) + 64 * 1024


@pytest.mark.parametrize(("replication", "in_sync"), [(1, "1"), (2, "2"), (3, "2"), (5, "2")])
def test_a_write_needs_two_replicas_where_there_are_two(replication: int, in_sync: str) -> None:
    for plan in plans(TopicNames(), TopicShape(replication=replication)):
        assert plan.config["min.insync.replicas"] == in_sync


@pytest.mark.parametrize(
    "found",
    [
        RIGHT,
        replace(RIGHT, replication=5),
        with_config(max__message__bytes="99999999"),
        with_config(compression__type="producer"),
    ],
)
def test_what_is_no_difference(found: TopicInfo) -> None:
    assert differences(PLAN, found) == ()


@pytest.mark.parametrize(
    ("found", "setting", "severity"),
    [
        (None, "topic", "wrong"),
        (replace(RIGHT, partitions=6), "partitions", "wrong"),
        (replace(RIGHT, partitions=24), "partitions", "wrong"),
        (replace(RIGHT, replication=1), "replication", "note"),
        (with_config(message__timestamp__type="CreateTime"), "message.timestamp.type", "wrong"),
        (with_config(message__timestamp__type=None), "message.timestamp.type", "wrong"),
        (with_config(cleanup__policy="compact"), "cleanup.policy", "wrong"),
        (with_config(cleanup__policy="compact,delete"), "cleanup.policy", "wrong"),
        (with_config(unclean__leader__election__enable="true"), "unclean.leader.election.enable", "wrong"),
        (with_config(max__message__bytes="1048588"), "max.message.bytes", "wrong"),
        (with_config(min__insync__replicas="1"), "min.insync.replicas", "note"),
        (with_config(retention__ms="-1"), "retention.ms", "note"),
    ],
)
def test_what_is_a_difference(found: TopicInfo | None, setting: str, severity: str) -> None:
    [difference] = differences(PLAN, found)
    assert (difference.topic, difference.setting, difference.severity) == (PLAN.name, setting, severity)
    assert setting in str(difference)


async def test_what_is_missing_is_created_and_then_no_different() -> None:
    topics = KeptTopics()
    wanted = plans(TopicNames(), TopicShape())
    assert await create_or_check(topics, wanted) == []
    assert set(topics.kept) == {plan.name for plan in wanted}
    assert await create_or_check(topics, wanted, create=False) == []


async def test_a_check_creates_nothing_and_nothing_that_exists_is_changed() -> None:
    topics = KeptTopics()
    assert [each.setting for each in await create_or_check(topics, [PLAN], create=False)] == ["topic"]
    assert topics.kept == {}
    other = TopicPlan(PLAN.name, 3, 3, PLAN.config)
    await create_or_check(topics, [other])
    found = await create_or_check(topics, [PLAN])
    assert found == [Difference(PLAN.name, "partitions", "12", "3", "wrong")]
    assert topics.kept[PLAN.name].partitions == 3
