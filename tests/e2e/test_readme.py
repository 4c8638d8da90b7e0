"""The README's way from an agent: its own lines publish a turn, and its own question recalls it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import httpx

from afterturn.consumers.dev.stack import Addresses

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_the_readme_from_an_agent_to_a_recalled_memory(stack: Addresses) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    imports, _, body = block.partition("\n\n")
    main = f"async def main():\n{textwrap.indent(body, '    ')}\n    print(token)\n"
    program = f"import asyncio\n{imports}\n{main}asyncio.run(main())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **stack.environment()},
    )
    assert done.returncode == 0, done.stderr
    (question,) = re.findall(r"/v1/recall -H 'Afterturn-Tenant: ada' \\\n\s+-d '(\{.*?\})'", README)
    query = json.loads(question) | {"after": done.stdout.strip()}
    deadline = time.monotonic() + 30
    while True:
        answer = httpx.post(
            f"{stack.recall}/v1/recall", headers={"Afterturn-Tenant": "ada"}, json=query, timeout=30
        ).json()
        if not answer["degraded"]:
            break
        assert time.monotonic() < deadline
    assert "We fly to Oviedo on the 12th." in answer["text"]
