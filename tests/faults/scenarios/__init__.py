"""Every scenario by name. A new one is a function with `@scenario` in one of these modules."""

from faults.registry import SCENARIOS
from faults.scenarios import clocks, copies, givingup, inputs, kills, logs, members, outages

__all__ = ("SCENARIOS", "clocks", "copies", "givingup", "inputs", "kills", "logs", "members", "outages")
