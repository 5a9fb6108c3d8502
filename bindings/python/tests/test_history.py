"""Matchers that are moved by token histories."""

import random

from maskwright import Compiler, Tokenizer
from maskwright._history import Follower, Generation, Rows, SingleText, common_prefix


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


def told(*calls):
    """What a host's calls mean: the text of each, and whether it begins."""
    generation = Generation()
    return [(history, begins) for call in calls for (history,), begins in [generation.histories([list(call)])]]


def test_a_prompt_that_extends_an_earlier_one_begins_a_text():
    first = [([], True), ([7], False), ([7, 8], False)]
    assert told([1, 2], [1, 2, 7], [1, 2, 7, 8]) == first
    # Another `generate`, with the same prompt, a longer one, and a longer one than the text was.
    assert told([1, 2], [1, 2, 7], [1, 2])[-1] == ([], True)
    assert told([1, 2], [1, 2, 7], [1, 2, 3, 4])[-1] == ([], True)
    assert told([1, 2], [1, 2, 7], [1, 2, 7, 8, 9, 9])[-1] == ([], True)
    assert told([1, 2], [1, 2, 7], [3, 2])[-1] == ([], True)


def test_drafts_that_are_taken_back_stay_in_the_text():
    # Drafts 7, 8, 9, of which 7 is taken; then 5 is drawn, and the same again is asked for.
    calls = [[1], [1, 7], [1, 7, 8], [1, 7, 8, 9], [1, 7, 5], [1, 7, 5], [1, 7, 5, 6]]
    assert [begins for _, begins in told(*calls)] == [True] + [False] * 6
    assert told(*calls)[-1][0] == [7, 5, 6]


def texts(*calls, interleaved=False):
    """What a text of "ab" or "ba" may go on with at each of a host's calls, whose tokens are bytes."""
    text = SingleText(Compiler(Tokenizer.of_bytes()).choice(["ab", "ba"]), interleaved)
    found = []
    for call in calls:
        matcher = text.matcher_after(list(call), 288)
        found.append(matcher and "".join(letter for letter in "ab" if matcher.fork().accept(ord(letter))))
    return found


def test_a_forbidden_token_begins_a_text_beside_the_one_of_before():
    # A prompt that is the last one and one token more, again and again.
    assert texts(b"x", b"xa", b"xy", b"xya", b"xy", b"xyb") == ["ab", "b", "ab", "b", "ab", "a"]
    # So after a text: the last token of the call before was drawn.
    assert texts(b"x", b"xa", b"xac", b"xacb") == ["ab", "b", "ab", "a"]
    # Drafts, of which all or the last are taken back.
    assert texts(b"x", b"xy", b"xyz", b"xa", b"xac", b"xab")[3::2] == ["b", ""]


def test_texts_in_turn():
    calls = b"x", b"y", b"xa", b"yb", b"xab", b"yba"
    assert texts(*calls, interleaved=True) == ["ab", "ab", "b", "a", "", ""]
    equal = b"x", b"x", b"xa", b"xb", b"xab", b"xba"
    assert texts(*equal, interleaved=True) == ["ab", "ab", "b", "a", "", ""]
