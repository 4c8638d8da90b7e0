"""An agent without an event loop, which speaks HTTP only. What can't be sent waits in a file beside it."""

from pathlib import Path
from tempfile import gettempdir

from afterturn.streams.agent import AgentSettings, BlockingAgentMemory

SETTINGS = AgentSettings(record_over="http", spool=Path(gettempdir()) / "afterturn-example.db")

with BlockingAgentMemory(SETTINGS, tenant="bo", scope={"user": "bo"}) as memory:
    for question in ("My bicycle is green.", "What is green?"):
        with memory.turn(question, thread="things") as turn:
            found = [line for line in turn.context.text.splitlines() if "green" in line]
            turn.answer = found[0] if found else "Noted."
        print(f"Bo: {question}\nAgent: {turn.answer}")
