"""Memory as a tool beside the prompt section: what a turn is shown unasked, and what the model may look up."""

import asyncio
import json

from afterturn.streams.agent import About, AgentMemory, Eager

GARDEN = About(
    topic="the garden",
    use_when="somebody asks about plants, or about what to do outside",
    eager=Eager(topic=True, limit=3),
    limit=20,
)


async def main() -> None:
    async with AgentMemory(tenant="cleo", about=GARDEN) as memory:
        for number, fact in enumerate(("The fig tree needs cover in winter.", "Tomatoes grow behind the garden shed.")):
            await memory.after_turn(fact, "Noted.", thread="garden", turn_id=f"fact-{number}")

        context = await memory.before_turn("What about the winter?")
        print(context.text)  # the section `semantic-memory`: the same for every step of this turn

        tool = context.tool  # for the model: a name, a description, a schema
        print(json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters}))
        print(await tool.call('{"query": "tomatoes", "limit": 3}'))  # what the section doesn't show already


asyncio.run(main())
