"""Threads that share compilers, constraints and matchers, as free-threaded builds of CPython run them."""

import json
import sys
import threading

import maskwright

THREADS = 8
SCHEMAS = [
    {
        "type": "object",
        "properties": {f"k{i}": {"type": "string", "maxLength": 8}, "n": {"type": "integer"}},
        "required": [f"k{i}", "n"],
        "additionalProperties": False,
    }
    for i in range(4)
]


def in_threads(work):
    """Runs `work(thread)` in threads that begin together; the first error is raised."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(thread):
        barrier.wait()
        try:
            work(thread)
        except BaseException as error:  # noqa: BLE001, raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def masks_of(constraint, text):
    """The mask before each byte of a text, and the one after it."""
    matcher, masks = constraint.matcher(), []
    for byte in text:
        masks.append(matcher.mask_bytes())
        assert matcher.accept(byte)
    assert matcher.is_accepting
    return [*masks, matcher.mask_bytes()]


def test_masks_are_those_of_one_thread():
    texts = [json.dumps({f"k{i}": "abc", "n": -12}).encode() for i in range(len(SCHEMAS))]
    alone = maskwright.Compiler(maskwright.Tokenizer.of_bytes())
    expected = [masks_of(alone.json_schema(schema), text) for schema, text in zip(SCHEMAS, texts)]
    shared = maskwright.Compiler(maskwright.Tokenizer.of_bytes())
    constraints = [shared.json_schema(schema) for schema in SCHEMAS]

    def work(thread):
        for turn in range(20):
            i = (thread + turn) % len(SCHEMAS)
            constraint = constraints[i] if turn % 2 else shared.json_schema(SCHEMAS[i])
            assert masks_of(constraint, texts[i]) == expected[i]

    in_threads(work)


def test_one_matcher_serves_one_call_at_a_time():
    constraint = maskwright.Compiler(maskwright.Tokenizer.of_bytes()).regex("a*")
    matcher = constraint.matcher()
    mask = matcher.mask_bytes()

    def work(_):
        for _ in range(200):
            fork = matcher.fork()
            assert fork.mask_bytes() == mask and matcher.mask_bytes() == mask
            assert matcher.accept(ord("a"))

    in_threads(work)
    assert matcher.steps == 200 * THREADS


def test_the_gil_stays_off_in_free_threaded_builds():
    is_on = getattr(sys, "_is_gil_enabled", lambda: True)()
    free_threaded = "free-threading" in sys.version
    assert is_on != free_threaded
