"""`Follower`: a matcher that is moved by token histories.

Hosts hand over the tokens so far, not steps: beams swap rows, assisted generation looks ahead and goes back. One rule
serves them all: what two histories have in common stays, the rest is rolled back, what is new is accepted.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

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

    def move_to(self, tokens: List[int]) -> bool:
        """Moves the matcher behind these tokens; whether the constraint allows them."""
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
    """The prompts of rows that a host hands over with what was generated, told apart.

    The prompt is what the first call of a generation shows. Within one, rows grow by one token at a time, so that a
    greater length, or another beginning, is a new generation.
    """

    def __init__(self) -> None:
        self._prompts: List[List[int]] = []
        self._longest = 0

    def histories(self, rows: List[List[int]]) -> Tuple[List[List[int]], bool]:
        """What was generated of each row, and whether a generation begins."""
        length = len(rows[0])
        begins = (
            len(rows) != len(self._prompts)
            or length > self._longest + 1
            or length < len(self._prompts[0])
            or any(row[: len(prompt)] != prompt for row, prompt in zip(rows, self._prompts))
        )
        if begins:
            self._prompts, self._longest = rows, 0
        self._longest = max(self._longest, length)
        return [row[len(prompt) :] for row, prompt in zip(rows, self._prompts)], begins


class SingleText:
    """One text under a constraint, for hosts that hand over prompt and text as one list at each step."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self.reset()

    def reset(self) -> None:
        """Forgets the text: the next call begins a generation."""
        self._generation = Generation()
        self._follower = Follower(self._constraint.matcher())

    def matcher_after(self, tokens: List[int]) -> Optional[Matcher]:
        """The matcher behind these tokens; `None` if the constraint does not allow them."""
        (history,), begins = self._generation.histories([tokens])
        if begins:
            self._follower = Follower(self._constraint.matcher())
        return self._follower.matcher if self._follower.move_to(history) else None


class Rows:
    """The followers of rows whose order may change between two calls."""

    def __init__(self) -> None:
        self._followers: List[Follower] = []
        self._constraints: List[Optional[Constraint]] = []

    def move_to(
        self, histories: Sequence[List[int]], constraints: Sequence[Optional[Constraint]]
    ) -> List[Optional[Follower]]:
        """The follower of each row behind its history; `None` for rows without a constraint, and for those whose
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
        return placed
