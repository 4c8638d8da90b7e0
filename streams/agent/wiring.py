"""How an agent's memory is put together from its settings."""

from __future__ import annotations

from afterturn.streams.agent.recalling import RecallClient
from afterturn.streams.agent.routes import HttpRoute, KafkaRoute, Route
from afterturn.streams.agent.sending import Sender
from afterturn.streams.agent.settings import AgentSettings
from afterturn.streams.agent.spool import Spool
from afterturn.streams.publisher import TurnPublisher

__all__ = ("route_of", "sender_of")


def route_of(settings: AgentSettings, client: RecallClient, publisher: TurnPublisher | None) -> Route:
    """The way turns go; a publisher that is given is used."""
    if publisher is not None:
        return KafkaRoute(publisher)
    return KafkaRoute(TurnPublisher(source=settings.source)) if settings.record_over == "kafka" else HttpRoute(client)


def sender_of(settings: AgentSettings, route: Route) -> Sender:
    """What sends turns by a route, with a spool where the settings name one.

    Raises:
        BadSettings: the spool can't be opened.
    """
    spool = None
    if settings.spool is not None:
        spool = Spool(settings.spool, entries=settings.spool_entries, size=settings.spool_bytes)
    return Sender(route, spool, seconds=settings.record_timeout)
