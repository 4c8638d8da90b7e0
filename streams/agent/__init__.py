"""The agent's side: memory before and after every turn.

async with AgentMemory(tenant="ada") as memory:
    async with memory.turn(question, thread="trip") as turn:
        turn.answer = await model(turn.context.text, question)
"""

from afterturn.streams.agent.about import About, Eager
from afterturn.streams.agent.blocking import BlockingAgentMemory
from afterturn.streams.agent.context import Context, RecallTool
from afterturn.streams.agent.errors import MemoryRefused, NotOpen
from afterturn.streams.agent.memory import AgentMemory
from afterturn.streams.agent.sending import Sent
from afterturn.streams.agent.settings import AgentSettings
from afterturn.streams.agent.turn import AgentTurn

__all__ = (
    "About",
    "AgentMemory",
    "AgentSettings",
    "AgentTurn",
    "BlockingAgentMemory",
    "Context",
    "Eager",
    "MemoryRefused",
    "NotOpen",
    "RecallTool",
    "Sent",
)
