"""Kafka, typed and bounded: the only modules that import the client library are in this folder.

    Producer                 idempotent; `send` gives the position
    TransactionalProducer    `start` fences; `commit` writes records and offsets together
    GroupConsumer            a member of a group on one topic; partitions arrive paused
    LogReader                reads partitions by itself; first, last and timed offsets
    Admin                    topics, their configuration, committed offsets
    start_when_available     waits for a broker that is away; ``unless_stopped`` until the process is asked to end
    quiet_client_logs        rate-limits the client library's log

Each is made from `KafkaSettings` without touching the network, is connected by `start()` (which can be called again
after a `Retry`), works as an `async with`, and raises the errors of `afterturn.streams.errors` only. All are of one
event loop.
"""

from afterturn.streams.kafka.admin import Admin
from afterturn.streams.kafka.connection import Stopped, start_when_available, unless_stopped
from afterturn.streams.kafka.groups import GroupConsumer, GroupTiming, OnPartitions
from afterturn.streams.kafka.producer import MAX_REQUEST_BYTES, Producer, estimated_size
from afterturn.streams.kafka.quiet import quiet_client_logs
from afterturn.streams.kafka.reading import LogReader
from afterturn.streams.kafka.transactions import TransactionalProducer
from afterturn.streams.kafka.values import TopicInfo, TopicPartition
from afterturn.streams.records import OutRecord, Position, Record
from afterturn.streams.settings import KafkaSettings

__all__ = (
    "MAX_REQUEST_BYTES",
    "Admin",
    "GroupConsumer",
    "GroupTiming",
    "KafkaSettings",
    "LogReader",
    "OnPartitions",
    "OutRecord",
    "Position",
    "Producer",
    "Record",
    "Stopped",
    "TopicInfo",
    "TopicPartition",
    "TransactionalProducer",
    "estimated_size",
    "quiet_client_logs",
    "start_when_available",
    "unless_stopped",
)
