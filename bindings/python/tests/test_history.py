"""Matchers that are moved by token histories."""

import random

from maskwright import Compiler, Tokenizer
from maskwright._history import Follower, Rows, common_prefix


def test_common_prefixes():
    random.seed(1)
    for _ in range(300):
        one = [random.randrange(2) for _ in range(random.randrange(9))]
        other = [random.randrange(2) for _ in range(random.randrange(9))]
        expected = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        assert common_prefix(one, other) == expected


def test_rows_are_what_new_matchers_are():
    """Random moves of rows: extended, cut, swapped, not allowed; and tokens after the end."""
    constraint = Compiler(Tokenizer.of_bytes()).regex("(ab|ba)*c?")
    random.seed(2)
    for _ in range(60):
        rows = Rows()
        histories = [[] for _ in range(4)]
        for _ in range(20):
            histories = [list(random.choice(histories)) for _ in range(4)]
            for history in histories:
                del history[len(history) - random.choice([0, 0, 0, 1, 2]) :]
                history.extend(random.choice([[97], [98], [99], [256], [97, 98], [98, 97], []]))
            for history, follower in zip(histories, rows.move_to(histories, [constraint] * 4)):
                fresh = Follower(constraint.matcher())
                assert fresh.move_to(history) == (follower is not None)
                if follower is not None:
                    assert follower.tokens == history
                    assert follower.matcher.mask_bytes() == fresh.matcher.mask_bytes()
                    assert follower.matcher.is_terminated == (256 in history)
