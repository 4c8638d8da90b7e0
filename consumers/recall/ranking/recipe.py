"""The numbers of the recall recipe."""

from dataclasses import dataclass

from afterturn.schemas.budget import CHARS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Recipe:
    """How candidates are scored and packed.

    The defaults are the recipe that was measured first; what came later is off in them (``engine.SERVED`` switches it
    on, docs/quality.md has the evidence). They were measured on LoCoMo (ten conversations, 1,536 questions of
    categories 1-4 with evidence; one conversation a tenant, one message a memory), with WordLlama and the tenant's own
    BM25 corpus: R@10 .775, and .900 inside a text of 2,000 tokens. Reciprocal rank fusion of the same two lists reaches
    .619 and .818. `first_person` is the exception: it is chosen beside the measured author bonus, as LoCoMo asks in the
    third person only.

    Attributes:
        candidates: How many hits each arm is asked for; 50, 100 and 200 make no difference.
        lexical_weight: Factor of the normalised lexical score.
        lexical_power: Exponent of the normalised lexical score: above 1, hits far behind the best count for less.
        lexical_doubt: How much of the lexical arm's weight depends on its best hit standing out from the tenth.
        dense_weight: Factor of the normalised dense score.
        kernel: Share of a neighbour's score that a message also gets, by distance 1, 2, … in its thread, on both
            sides. Worth seven points of R@10.
        best: How many of the best positions bring their neighbours in. The best 5 lose nothing; without any, recall
            inside 2,000 tokens falls from .900 to .868.
        author: Bonus for the messages of the one author the question names. 0.8 wins .004 on categories 1-4 and loses
            .07 on adversarial questions.
        address: What of that bonus, and of the next, a message lacks that only speaks to another.
        first_person: Bonus for the user's messages where the question speaks of its asker ("my") and names no author.
        question: Malus of a short question: it asks and rarely tells.
        reply: Share of a short question's score that the message right after it also gets.
        session: Share of what its thread's best three messages of the day score that a message also gets.
        when: Bonus for what names a time, where the question asks when.
        date: Bonus for what was said at the time a question names, or soon after.
        answer: Bonus for what names a thing of the kind a question asks for: a number, a person, a name.
        chars_per_token: Characters counted as one token of the budget.
        least_room: Packing stops once fewer characters are left.
    """

    candidates: int = 100
    lexical_weight: float = 1.0
    lexical_power: float = 1.0
    lexical_doubt: float = 0.0
    dense_weight: float = 0.7
    kernel: tuple[float, ...] = (0.25, 0.2, 0.15, 0.1, 0.05)
    best: int = 20
    author: float = 0.5
    address: float = 0.0
    first_person: float = 0.3
    question: float = 0.1
    reply: float = 0.0
    session: float = 0.0
    when: float = 0.0
    date: float = 0.0
    answer: float = 0.0
    chars_per_token: int = CHARS_PER_TOKEN
    least_room: int = 60


MEASURED = Recipe()
