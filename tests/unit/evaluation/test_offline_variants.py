"""Changes of a recipe by the names of its numbers."""

import pytest

from afterturn.consumers.evaluation.offline.variants import tried, without
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.schemas.errors import ContractError


def test_values_are_tried_one_at_a_time_or_together() -> None:
    found = tried(Recipe(), ["dense_weight=0.5,0.9", "best=7+author=0.6", "kernel=0.3/0.1"])
    assert {label: r.dense_weight for label, r in found["dense_weight=0.5,0.9"].items()} == {
        "dense_weight=0.5": 0.5,
        "dense_weight=0.9": 0.9,
    }
    (both,) = found["best=7+author=0.6"].values()
    assert (both.best, both.author) == (7, 0.6)
    (shape,) = found["kernel=0.3/0.1"].values()
    assert shape.kernel == (0.3, 0.1)


@pytest.mark.parametrize("wish", ["nothing=1", "dense_weight", "dense_weight=much", "best=0.5", "kernel=a/b", ""])
def test_what_is_no_number_of_the_recipe_is_refused_by_name(wish: str) -> None:
    with pytest.raises(ContractError, match="try"):
        tried(Recipe(), [wish])


def test_without_each_weight_leaves_the_others() -> None:
    found = without(Recipe())
    assert found["without author"] == Recipe(author=0.0)
    assert found["without kernel"] == Recipe(kernel=(0.0,) * 5)
    assert found["without lexical_power"] == Recipe()
    assert "without candidates" not in found
