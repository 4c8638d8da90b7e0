"""An agent with memory. Run it twice: the second time it knows what the first was told."""

import asyncio

from afterturn.streams.agent import AgentMemory


def model(memory: str, question: str) -> str:
    """What stands for a language model here: it answers with the last line of memory that shares a word."""
    words = {word.strip("?.,").lower() for word in question.split() if len(word) > 3}
    lines = [line for line in memory.splitlines() if words & {word.strip("?.,").lower() for word in line.split()}]
    return f"As you said: {lines[-1]}" if lines else "I don't know yet."


async def main() -> None:
    async with AgentMemory(tenant="eve") as memory:
        for number, said in enumerate(("We fly to Oviedo on the 12th.", "Which day do we fly?")):
            async with memory.turn(said, thread="trip", turn_id=f"chat-{number}") as turn:
                turn.answer = model(turn.context.text, said)
            print(f"Eve: {said}\nAgent: {turn.answer}")


asyncio.run(main())
