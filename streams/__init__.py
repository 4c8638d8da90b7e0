"""Kafka in and out: what agents and dashboards import. Light: nothing of Qdrant, FastAPI or Faust.

async with TurnPublisher(source="my-agent") as publisher:
    token = await publisher.publish({"tenant": "ada", "thread": "t1", "turn_id": "1", ...})

async for received in subscriber:  # a MemoryEventSubscriber
    print(received.event)
"""

from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.publisher import TurnPublisher
from afterturn.streams.subscriber import MemoryEventSubscriber, Received
from afterturn.streams.topics import TopicNames

__all__ = ("KafkaSettings", "MemoryEventSubscriber", "Received", "TopicNames", "TurnPublisher")
