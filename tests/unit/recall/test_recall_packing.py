"""Laws of packing: by rank, greedy, never beyond the budget."""

from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW, START, by_id, candidate, candidate_sets

from afterturn.consumers.recall.prompt.packing import pack, unseen
from afterturn.consumers.recall.prompt.timeline import render
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.scoring import rank

HEADER = len("8 May 2023, 13:56") + 4


def text_of(chosen: tuple[str, ...], candidates: dict[str, Candidate]) -> str:
    kept = [candidates[identity] for identity in chosen]
    return render(kept, {each.id: "x" * each.chars for each in kept})


@LAW
@given(candidate_sets(), st.integers(0, 600))
def test_the_text_never_exceeds_the_budget(candidates: dict[str, Candidate], max_tokens: int) -> None:
    packed = pack(list(candidates.values()), max_tokens)
    assert len(text_of(packed.ids, candidates)) <= packed.chars <= max_tokens * 4


@LAW
@given(candidate_sets(), st.integers(0, 600))
def test_what_was_skipped_had_no_room_and_what_was_taken_had(candidates: dict[str, Candidate], max_tokens: int) -> None:
    ranked = list(candidates.values())
    packed = pack(ranked, max_tokens)
    taken = set(packed.ids)
    assert list(packed.ids) == [each.id for each in ranked if each.id in taken]
    left, stopped, headed = max_tokens * 4, False, set[tuple[str, str]]()
    for each in ranked:
        day = (each.thread_key, f"{each.occurred_at:%F}")
        header = 0 if day in headed else len(f"{each.occurred_at.day} {each.occurred_at:%B %Y, %H:%M}") + 4
        cost = len(each.author or each.role) + 3 + each.chars + header
        assert (each.id in taken) == (cost <= left and not stopped)
        if each.id in taken:
            left -= cost
            headed.add(day)
        stopped = stopped or left < 60
    assert packed.chars == max_tokens * 4 - left


def test_a_long_one_is_skipped_and_a_later_short_one_taken() -> None:
    ranked = [candidate("a", chars=100), candidate("long", chars=900), candidate("b", chars=200)]
    assert pack(ranked, 125).ids == ("a", "b")


def test_a_header_is_paid_once_for_each_thread_and_day() -> None:
    line = len("Ada") + 3 + 40
    same_day = [candidate("a"), candidate("b", minutes=60)]
    next_day = [candidate("a"), candidate("b", minutes=24 * 60)]
    other_thread = [candidate("a"), candidate("b", thread="u")]
    assert pack(same_day, 2_000).chars == 2 * line + HEADER
    assert pack(next_day, 2_000).chars == 2 * line + 2 * HEADER
    assert pack(other_thread, 2_000).chars == 2 * line + 2 * HEADER
    assert START.day == 8


def test_packing_stops_when_less_than_60_characters_are_left() -> None:
    big = candidate("big", chars=400 - HEADER - 6 - 59)
    tiny = candidate("tiny", chars=1)
    assert pack([big, tiny], 100).ids == ("big",)
    assert pack([big._replace(chars=big.chars - 1), tiny], 100).ids == ("big", "tiny")


def test_what_fits_exactly_is_taken() -> None:
    exact = candidate("a", chars=400 - HEADER - len("Ada") - 3)
    assert pack([exact], 100) == (("a",), 400)
    assert pack([exact._replace(chars=exact.chars + 1)], 100) == ((), 0)


def test_no_budget_takes_nothing() -> None:
    assert pack([candidate("a", chars=1)], 0) == ((), 0)
    assert pack([], 2_000) == ((), 0)


def test_what_was_seen_goes_before_the_limit() -> None:
    candidates = by_id(candidate(f"m{number}", thread="", minutes=number) for number in range(6))
    ranked = rank({identity: float(identity[1:]) for identity in candidates}, {}, candidates, "harbour", [])
    assert [entry.candidate.id for entry in unseen(ranked, {"m5", "m3", "elsewhere"})[:3]] == ["m4", "m2", "m1"]
    assert unseen(ranked, ()) == ranked
