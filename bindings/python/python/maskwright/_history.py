"""`Follower`: a matcher that is moved by token histories.

Hosts hand over the tokens so far, not steps: beams swap rows, assisted generation looks ahead and goes back. One rule
serves them all: what two histories have in common stays, the rest is rolled back, what is new is accepted.
"""

from __future__ import annotations

from typing import Callable, Dict, Generic, List, Optional, Sequence, Set, Tuple, TypeVar

from ._errors import error
from ._native import Constraint, Matcher


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of what two histories have in common."""
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    low, high = 0, limit  # the first `low` are equal, the first `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


class Follower:
    """A matcher and the tokens that it has read."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.tokens: List[int] = []
        #: Whether a token of the history was not allowed: nothing is known of what follows.
        self.is_lost = False

    def lost_at_end_of(self, tokens: List[int]) -> bool:
        """Whether the last of these tokens, to which it was moved, is the one that was not allowed."""
        return self.is_lost and len(self.tokens) + 1 == len(tokens)

    def move_to(self, tokens: List[int]) -> bool:
        """Moves the matcher to the end of these tokens; whether the constraint allows them."""
        common = common_prefix(self.tokens, tokens)
        self.matcher.rollback(len(self.tokens) - common)
        del self.tokens[common:]
        self.is_lost = False
        for token in tokens[common:]:
            if not self.matcher.accept(token):
                self.is_lost = True
                break
            self.tokens.append(token)
        return not self.is_lost

    def fork(self) -> "Follower":
        """Another one at the same place."""
        made = Follower(self.matcher.fork())
        made.tokens = list(self.tokens)
        return made


class Generation:
    """Tells the prompts of a host's rows from the tokens that were generated after them.

    The rows of the first call of a generation are its prompts. In each later call, every row is a row of an earlier
    call and one token more, or a row that was seen before; rows of which that is not so begin a new generation.
    """

    def __init__(self) -> None:
        self._prompts: List[List[int]] = []
        #: Hashes of the rows of this generation.
        self._seen: Set[int] = set()

    def begins_with(self, rows: List[List[int]]) -> bool:
        """Whether these rows are its prompts."""
        return rows == self._prompts

    def goes_on_with(self, rows: List[List[int]]) -> bool:
        """Whether these rows are its prompts and what was drawn after them."""
        return len(rows) == len(self._prompts) and all(map(self._goes_on, rows, self._prompts))

    def histories(self, rows: List[List[int]]) -> Tuple[List[List[int]], bool]:
        """What was generated of each row, and whether a generation begins."""
        begins = not self.goes_on_with(rows)
        if begins:
            self._prompts, self._seen = rows, set()
        self._seen.update(hash(tuple(row)) for row in rows)
        return [row[len(prompt) :] for row, prompt in zip(rows, self._prompts)], begins

    def _goes_on(self, row: List[int], prompt: List[int]) -> bool:
        """Whether the row is the prompt and what was drawn after it."""
        if len(row) <= len(prompt) or row[: len(prompt)] != prompt:
            return False
        return hash(tuple(row[:-1])) in self._seen or hash(tuple(row)) in self._seen


State = TypeVar("State")


class OpenGenerations(Generic[State]):
    """The generations that a host may go on with, each with a state.

    Most hosts work on one generation at a time. But a row whose last token was forbidden is one of two things: a draft
    that will be taken back, after which the generation goes on, or the prompt of a new generation, which happens to be
    an earlier row and one token more. So such a row begins a generation (`begin`) beside the one that it may belong to.
    `interleaved`: whether a host may work on several generations in turn.
    """

    #: Generations kept open at a time; the one that was used least recently is dropped.
    _MOST = 64

    def __init__(self, made: Callable[[], State], interleaved: bool = False) -> None:
        self._made, self._interleaved = made, interleaved
        self._open: List[Tuple[Generation, State]] = []

    def begins_with(self, rows: List[List[int]]) -> bool:
        """Whether the last generation began with these rows."""
        return bool(self._open) and self._open[-1][0].begins_with(rows)

    def of(self, rows: List[List[int]]) -> Tuple[State, List[List[int]], bool]:
        """The state of the generation of these rows, what was generated of each, and whether it begins."""
        for at in reversed(range(len(self._open))):
            generation, state = self._open[at]
            if generation.goes_on_with(rows):
                later = self._open[at + 1 :] if self._interleaved else []
                self._open[at:] = [*later, (generation, state)]
                return state, generation.histories(rows)[0], False
        if not self._interleaved:
            self._open = []
        return self.begin(rows), [[] for _ in rows], True

    def begin(self, rows: List[List[int]]) -> State:
        """Begins a generation with these prompts."""
        generation, state = Generation(), self._made()
        generation.histories(rows)
        self._open.append((generation, state))
        del self._open[: -self._MOST]
        return state


def check_width(words: int, logits: int) -> None:
    """Errors if masks of `words` words and `logits` logits cannot be of one model: padding may make either wider, but
    not much more than twice as wide."""
    if not logits <= words * 64 or not words * 32 <= logits * 2 + 64:
        raise error(
            f"the constraint is of about {words * 32} tokens, the model has {logits} logits",
            "compile it for the tokenizer of this model",
        )


class SingleText:
    """One text under a constraint, for hosts that hand over prompt and text as one list at each step; `interleaved`: a
    few at a time."""

    def __init__(self, constraint: Constraint, interleaved: bool = False) -> None:
        self._constraint, self._interleaved = constraint, interleaved
        self.reset()

    def reset(self) -> None:
        """Forgets the text: the next call begins a generation."""
        self._generations = OpenGenerations(lambda: Follower(self._constraint.matcher()), self._interleaved)

    def matcher_after(self, tokens: List[int], logits: int) -> Optional[Matcher]:
        """The matcher after these tokens, for so many logits; `None` if the constraint does not allow the tokens."""
        check_width(self._constraint.words, logits)
        follower, (history,), _ = self._generations.of([tokens])
        if follower.move_to(history):
            return follower.matcher
        return self._generations.begin([tokens]).matcher if follower.lost_at_end_of(history) else None


class Rows:
    """The followers of rows whose order may change between two calls."""

    def __init__(self) -> None:
        self._followers: List[Follower] = []
        self._constraints: List[Optional[Constraint]] = []
        #: Whether the last token of each row was one that its constraint forbids.
        self.lost_at_end = False

    def move_to(
        self, histories: Sequence[List[int]], constraints: Sequence[Optional[Constraint]]
    ) -> List[Optional[Follower]]:
        """The follower of each row after its history; `None` for rows without a constraint, and for those whose
        history the constraint does not allow.

        A row goes on with the follower whose history it extends by one token, else with that of its place.
        """
        parents: Dict[Tuple[int, Tuple[int, ...]], int] = {}
        for index, (follower, constraint) in enumerate(zip(self._followers, self._constraints)):
            if not follower.is_lost:
                parents.setdefault((id(constraint), tuple(follower.tokens)), index)
        taken = set()
        chosen: List[Optional[Follower]] = [None] * len(histories)
        for row, (history, constraint) in enumerate(zip(histories, constraints)):
            index = parents.get((id(constraint), tuple(history[:-1])))
            if constraint is None or index is None:
                continue
            chosen[row] = self._followers[index].fork() if index in taken else self._followers[index]
            taken.add(index)
        for row, constraint in enumerate(constraints):
            if constraint is None or chosen[row] is not None:
                continue
            same = row < len(self._followers) and self._constraints[row] is constraint
            if same and row not in taken:
                taken.add(row)
                chosen[row] = self._followers[row]
            else:
                chosen[row] = Follower(constraint.matcher())
        # Forks are made before their parents move.
        placed: List[Optional[Follower]] = []
        followers, of = [], []
        for follower, history, constraint in zip(chosen, histories, constraints):
            if follower is None:
                placed.append(None)
                continue
            followers.append(follower)
            of.append(constraint)
            placed.append(follower if follower.move_to(history) else None)
        self._followers, self._constraints = followers, of
        ends = [f.lost_at_end_of(history) for f, history in zip(chosen, histories) if f is not None]
        self.lost_at_end = bool(ends) and all(ends)
        return placed
