"""Tokenizers, compilers, constraints and matchers."""

import array
import ctypes
import dataclasses
import enum
import gc
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import typing

import pytest

import maskwright
from maskwright import Compiler, Error, Tokenizer
from maskwright._compiler import notation_of

numpy = pytest.importorskip("numpy")


def row_of(tokens, width):
    row = numpy.zeros((width + 31) // 32, dtype=numpy.uint32)
    for token in tokens:
        row[token // 32] |= numpy.uint32(1 << (token % 32))
    return row.view(numpy.int32)


def test_version_is_the_library_s():
    manifest = pathlib.Path(__file__).parents[3] / "Cargo.toml"
    version = next(line for line in manifest.read_text().splitlines() if line.startswith("version = "))
    assert version == f'version = "{maskwright.__version__}"'


def test_a_matcher_from_start_to_end(compiler):
    matcher = compiler.json_schema({"type": "integer", "minimum": 10, "maximum": 19}).matcher()
    assert matcher.allowed_tokens() == [ord("1")]
    assert not matcher.accept(ord("2")) and matcher.steps == 0
    assert matcher.accept(ord("1")) and not matcher.is_accepting
    assert matcher.accept(ord("5")) and matcher.is_accepting and not matcher.is_terminated
    assert matcher.allowed_tokens() == [256]
    assert matcher.accept(256) and matcher.is_terminated


def test_tokens_after_the_end_are_steps_without_effect(compiler):
    matcher = compiler.choice(["a"]).matcher()
    assert matcher.accept_tokens([97, 256])
    before = matcher.allowed_tokens()
    assert before == [256]
    assert matcher.accept(256) and matcher.accept(98) and matcher.steps == 4
    assert matcher.is_terminated and matcher.allowed_tokens() == before
    matcher.rollback(2)
    assert matcher.is_terminated and matcher.steps == 2
    matcher.rollback(1)
    assert not matcher.is_terminated and matcher.is_accepting
    with pytest.raises(Error, match="cannot roll back 9 steps, only 1 were taken"):
        matcher.rollback(9)
    assert matcher.steps == 1


def test_accept_tokens_is_all_or_nothing(compiler):
    matcher = compiler.choice(["abc"]).matcher()
    assert not matcher.accept_tokens([97, 98, 120]) and matcher.steps == 0
    assert matcher.validate([97, 98, 120, 99]) == 2 and matcher.steps == 0
    assert matcher.validate([97, 98, 99, 256, 97]) == 4 and not matcher.is_terminated
    assert matcher.accept_tokens([97, 98, 99]) and matcher.steps == 3


def test_negative_tokens_are_named(compiler):
    matcher, tokenizer = compiler.choice(["abc"]).matcher(), compiler.tokenizer
    for use in (
        lambda: matcher.accept(-1),
        lambda: matcher.accept_tokens([97, -1]),
        lambda: matcher.validate([-1]),
        lambda: matcher.explain(-1),
        lambda: tokenizer.decode([-1]),
        lambda: tokenizer.token_bytes(-1),
        lambda: tokenizer.token_name(-1),
        lambda: tokenizer.is_special(-1),
    ):
        with pytest.raises(ValueError, match="no token -1 in a vocabulary of 257 tokens"):
            use()
    assert matcher.steps == 0


def test_forks_go_their_own_way(compiler):
    matcher = compiler.choice(["ab", "ac"]).matcher()
    matcher.accept(97)
    fork = matcher.fork()
    assert fork.accept(98) and matcher.accept(99)
    fork.reset()
    assert fork.steps == 0 and matcher.steps == 2


def test_stop_tokens_of_a_request(compiler):
    constraint = compiler.choice(["a", "ab"], stop_token_ids=[98])
    matcher = constraint.matcher()
    assert constraint.stop_token_ids == [98]
    defaults = Compiler(compiler.tokenizer, stop_token_ids=iter([98]))
    assert defaults.choice(["a"]).stop_token_ids == defaults.choice(["c"]).stop_token_ids == [98]
    assert matcher.accept(97)
    # Token 98 is no text any more: only the end is left.
    assert matcher.allowed_tokens() == [98] and not matcher.validate([256])
    assert matcher.accept(98) and matcher.is_terminated
    again = compiler.choice(["a", "ab"]).matcher()
    assert again.accept(97) and again.allowed_tokens() == [98, 256]
    # Each set of stop tokens takes memory that the cache does not count, so few of them are kept.
    entries = compiler.cache_info[0]
    for token in range(30):
        compiler.regex("[b-z]+", stop_token_ids=[token])
    assert compiler.cache_info[0] < entries + 10


def test_constraints_of_other_stop_tokens_stay_in_the_cache(bytes_tokenizer):
    compiler = Compiler(bytes_tokenizer, precompute=0)
    for token in range(5):
        for stop_token_ids in ([token, 10], [10, token]):
            compiler.regex("[b-z]+", stop_token_ids=stop_token_ids)
    # Those of the first set alone went with its vocabulary.
    assert compiler.cache_info[0] == 8
    misses = compiler.cache_info[3]
    for token in range(1, 5):
        compiler.regex("[b-z]+", stop_token_ids=[token, 10])
    assert compiler.cache_info[3] == misses


@pytest.mark.parametrize("dtype", [numpy.int32, numpy.uint32])
def test_rows_of_numpy(compiler, dtype):
    matcher = compiler.choice(["a", "b"]).matcher()
    expected = row_of([97, 98], 257)
    bitmask = numpy.full((3, 9), 7, dtype=dtype)
    assert matcher.fill(bitmask, 1) is True
    assert (bitmask[1].view(numpy.int32) == expected).all()
    assert (bitmask[[0, 2]] == 7).all()
    wide = numpy.full((3, 20), 7, dtype=dtype)
    matcher.fill(wide[:, 4:13], 2)
    assert (wide[2, 4:13].view(numpy.int32) == expected).all() and (wide[2, :4] == 7).all() and (wide[:2] == 7).all()


def test_rows_of_other_buffers(compiler):
    matcher = compiler.choice(["a", "b"]).matcher()
    expected = row_of([97, 98], 257).tobytes()
    assert matcher.mask_bytes() == expected
    for buffer in (bytearray(72), array.array("i", [0] * 18), (ctypes.c_int32 * 18)()):
        view = memoryview(buffer).cast("B").cast("i", (2, 9))
        matcher.fill(view, 1)
        assert bytes(view)[36:] == expected and not any(bytes(view)[:36])
    one = bytearray(36)
    matcher.fill(one)
    assert one == expected
    row = numpy.zeros(9, dtype=numpy.int32)
    matcher.fill_pointer(row.ctypes.data, 9)
    assert row.tobytes() == expected


@pytest.mark.parametrize(
    "bitmask, error, message",
    [
        (numpy.zeros((1, 8), numpy.int32), ValueError, "rows of 8 words where 9 fit"),
        (numpy.zeros((1, 9), numpy.int64), TypeError, "no array of int32"),
        (numpy.zeros((1, 9), numpy.float32), TypeError, "no array of int32"),
        (numpy.zeros((1, 1, 9), numpy.int32), ValueError, "one dimension or two"),
        (numpy.zeros((9, 9), numpy.int32).T, ValueError, "not contiguous"),
        (numpy.zeros((4, 9), numpy.int32)[::-1], ValueError, "not contiguous"),
        (bytes(36), ValueError, "not writable"),
        (array.array("d", [0.0] * 9), TypeError, "no buffer of int32"),
        ("text", TypeError, "bytes-like"),
    ],
)
def test_rows_that_do_not_fit(compiler, bitmask, error, message):
    matcher = compiler.choice(["a"]).matcher()
    with pytest.raises(error, match=message):
        matcher.fill(bitmask, 0)


def test_rows_that_are_not_there(compiler):
    matcher = compiler.choice(["a"]).matcher()
    read_only = numpy.zeros((1, 9), numpy.int32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        matcher.fill(read_only)
    with pytest.raises(IndexError, match="row 2 of a bitmask of 2 rows"):
        matcher.fill(numpy.zeros((2, 9), numpy.int32), 2)
    with pytest.raises(Error, match="8 words where 9 fit"):
        matcher.fill_pointer(4096, 8)


def test_a_mask_that_leaves_out_nothing_needs_no_application():
    compiler = Compiler(Tokenizer([b"a", b"b"], stop_token_ids=[]))
    bitmask = numpy.zeros((1, 1), numpy.int32)
    assert compiler.regex("[ab]*").matcher().fill(bitmask) is False
    assert compiler.regex("[a]*").matcher().fill(bitmask) is True


def test_batches_are_what_each_is(compiler):
    constraint = compiler.json_schema({"type": "array", "items": {"enum": ["red", "green"]}})
    text = b'["red", "green"]'
    matchers = [constraint.matcher() for _ in range(40)]
    for at, matcher in enumerate(matchers):
        assert matcher.accept_bytes(text[: at % len(text)])
    matchers[7].accept_bytes(text[7:])
    assert matchers[7].accept(256)
    bitmask = numpy.full((60, 9), 5, dtype=numpy.int32)
    indices = [59 - at for at in range(40)]
    maskwright.fill_masks(matchers, bitmask, indices)
    for matcher, index in zip(matchers, indices):
        assert bitmask[index].tobytes() == matcher.mask_bytes()
    assert (bitmask[:20] == 5).all()
    with pytest.raises(ValueError, match="a matcher is given twice"):
        maskwright.fill_masks([matchers[0], matchers[0]], bitmask)
    with pytest.raises(ValueError, match="row 3 is given twice"):
        maskwright.fill_masks(matchers[:2], bitmask, [3, 3])
    with pytest.raises(IndexError, match="row 60"):
        maskwright.fill_masks(matchers[:1], bitmask, [60])
    with pytest.raises(ValueError, match="2 matchers with 1 rows"):
        maskwright.fill_masks(matchers[:2], bitmask, [0])
    other = Compiler(Tokenizer.of_bytes([300])).choice(["a"]).matcher()
    with pytest.raises(ValueError, match="different widths"):
        maskwright.fill_masks([matchers[0], other], bitmask)
    maskwright.fill_masks([], bitmask)


def test_trees_of_drafts(compiler):
    matcher = compiler.regex("ab|ac").matcher()
    rows = numpy.full((5, 9), 5, dtype=numpy.int32)
    matcher.fill_tree([97, 98, 120], [-1, 0, 0], rows, 1)
    assert (rows[0] == 5).all()
    for row, tokens in zip(rows[1:], ([97], [98, 99], [256], [])):
        assert (row == row_of(tokens, 257)).all()
    assert matcher.steps == 0
    with pytest.raises(Error, match="put parents before their children"):
        matcher.fill_tree([97, 98], [1, -1], rows)
    # The row of an end token has the end tokens, as when it is accepted; what is no token is refused.
    rows = numpy.full((9, 9), 5, dtype=numpy.int32)
    matcher.fill_tree([97, 98, 256, 256, 97, 256, 1 << 30, -1], [-1, 0, 1, 2, 2, 0, 2, 0], rows)
    for row, tokens in zip(rows, ([97], [98, 99], [256], [256], [256], [], [], [], [])):
        assert (row == row_of(tokens, 257)).all()


def test_trees_go_on_after_end_tokens_of_the_grammar(compiler):
    matcher = compiler.lark('start: "a" <[256]> "b"').matcher()
    assert matcher.accept(97)
    rows = numpy.zeros((3, 9), dtype=numpy.int32)
    matcher.fill_tree([256, 98], [-1, 0], rows)
    for row, tokens in zip(rows, ([256], [98], [256])):
        assert (row == row_of(tokens, 257)).all()


def test_budgets(compiler):
    matcher = compiler.regex("(true|false|no idea)!").matcher()
    assert matcher.tokens_to_finish()[0] == 5
    row = numpy.zeros((1, 9), numpy.int32)
    matcher.fill_within(row, 5)
    assert (row[0] == row_of([ord("t")], 257)).all()
    with pytest.raises(Error, match="within 4 tokens: 5 are enough"):
        matcher.check_budget(4)


def test_forced_text(compiler):
    matcher = compiler.regex("name=[0-9]").matcher()
    assert matcher.forced_bytes() == b"name="
    assert matcher.forced_tokens(list) == list(b"name=")
    assert matcher.forced_tokens(list, 2) == list(b"na") and matcher.steps == 0


def test_explanations(compiler):
    why = compiler.json_schema({"type": "integer", "maximum": 19, "minimum": 10}).matcher().explain(ord("2"))
    assert not why.allowed and why.failed == ord("2") and "not allowed" in str(why)
    assert why.decided_by == ["/minimum"] or why.decided_by


def test_explanations_say_what_masks_say(compiler):
    matcher = compiler.regex("a|bc").matcher()
    # At the beginning, where the text may end, and after its end.
    for token, allowed in ((97, [97, 98]), (256, [256]), (256, [256])):
        assert matcher.allowed_tokens() == allowed
        assert [token for token in range(257) if matcher.explain(token).allowed] == allowed
        assert matcher.accept(token)
    assert "has ended" in str(matcher.explain(256))


def test_captures_and_temperatures(compiler):
    grammar = 'start: key "=" value\nkey[capture, temperature=0.5]: /[a-z]+/\nvalue[capture]: /[0-9]+/'
    matcher = compiler.lark(grammar).matcher()
    assert matcher.temperature == 0.5
    assert matcher.accept_bytes(b"x=12") and matcher.captures() == [("key", b"x", 0, 1), ("value", b"12", 2, 4)]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Pet:
    name: str
    friends: typing.List["Pet"] = dataclasses.field(default_factory=list)


class Owner(typing.TypedDict, total=False):
    pet: Pet
    colour: Colour
    point: typing.Tuple[int, int]
    tags: typing.Dict[str, typing.Optional[bool]]


@pytest.mark.parametrize(
    "schema, good, bad",
    [
        ({"type": "boolean"}, "true", "1"),
        ('{"type": "boolean"}', "false", "null"),
        (typing.List[int], "[1, 2]", '["a"]'),
        (typing.Literal["a", 1], '"a"', "2"),
        (typing.Set[int], "[1, 2]", "[1, 1]"),
        (Pet, '{"name": "Rex", "friends": [{"name": "Tom"}]}', '{"name": "Rex", "friends": [{}]}'),
        (
            Owner,
            '{"pet": {"name": "a"}, "colour": "red", "point": [1, 2], "tags": {"x": null}}',
            '{"colour": "green"}',
        ),
        (Owner, "{}", '{"point": [1]}'),
        (typing.Union[str, None], "null", "1"),
    ],
)
def test_schemas_of_types(schema, good, bad):
    assert maskwright.check(schema, good)
    assert not maskwright.check(schema, bad)


def test_schemas_of_pydantic():
    pydantic = pytest.importorskip("pydantic")

    class Person(pydantic.BaseModel):
        name: str
        age: int = pydantic.Field(ge=0, le=150)
        pet: typing.Optional[Pet] = None

    assert maskwright.check(Person, '{"name": "Ada", "age": 36}')
    assert not maskwright.check(Person, '{"name": "Ada", "age": 151}')
    assert maskwright.check(pydantic.TypeAdapter(typing.List[Person]), '[{"name": "Ada", "age": 36}]')
    assert maskwright.check(typing.List[Person], '[{"name": "Ada", "age": 36}]')
    for text in maskwright.sample(Person, 20, seed=4):
        Person.model_validate_json(text)


def test_types_without_a_schema():
    with pytest.raises(Error, match="has no JSON Schema here"):
        maskwright.type_schema(object)
    with pytest.raises(Error, match="keys of .* are not texts"):
        maskwright.type_schema(typing.Dict[int, int])


def test_kinds_of_constraints(compiler):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    for constraint, good, bad in [
        (compiler.json_object(), "{}", "[]"),
        (compiler.regex("[a-z]+"), "abc", "1"),
        (compiler.regex_search("b"), "abc", "ac"),
        (compiler.regex(r"[[]\w+]\Z", regex_dialect="python"), "[a]", "a"),
        (compiler.gbnf('root ::= "a" item\nitem ::= [0-9]'), "a1", "1"),
        (compiler.gbnf('root ::= "a" item\nitem ::= [0-9]', start="item"), "1", "a1"),
        (compiler.lark('start: "a"+'), "aa", "b"),
        (compiler.grammar('a ::= "x" | "y"', "ebnf"), "y", "z"),
        (compiler.grammar('a = "x" / "y"', "abnf"), "y", "z"),
        (compiler.grammar("a = 'x' | 'y';", "iso-ebnf"), "y", "z"),
        (compiler.named_grammar("json"), "[1]", "[1"),
        (compiler.quotation("to be or not"), "or not", "or be"),
        (compiler.formula({"allOf": [{"regex": "[a-z]+"}, {"not": {"choice": ["root"]}}]}), "roots", "root"),
        (compiler.structural_tag(tag), "x", "y"),
        (compiler.tools(tools, "qwen", choice="required"), call, "no"),
        (compiler.tools(tools, "qwen", choice={"name": "weather"}), call, "no"),
        (compiler.choice(["a"], reasoning="think"), "<think>\nhm\n</think>\n\na", "a"),
        (compiler.json_schema({"type": "array"}, separators=(",", ":")), "[1,2]", "[1, 2]"),
        (compiler.json_schema({"type": "array"}, indent=3), "[\n   1,\n   2\n]", "[1, 2]"),
        (compiler.json_schema({"type": "object", "properties": {"a": {}}}, strict=True), '{"a": 1}', '{"b": 1}'),
    ]:
        assert maskwright.check(constraint, good), (constraint, good)
        assert not maskwright.check(constraint, bad), (constraint, bad)
        again = compiler.load(constraint.spec)
        assert maskwright.check(again, good) and not maskwright.check(again, bad)


@pytest.mark.parametrize(
    "make, kind, place",
    [
        (lambda c: c.json_schema({"type": "object", "minProperties": "x"}), "schema", ("pointer", "/minProperties")),
        (lambda c: c.json_schema('{\n"type": 1}'), "schema", ("line", 2)),
        (lambda c: c.json_schema({"allOf": [{"type": "null"}, {"type": "string"}]}), "unsatisfiable", None),
        (lambda c: c.regex("("), "regex", None),
        (lambda c: c.lark("start: x"), "grammar", ("line", 1)),
        (lambda c: c.json_schema({}, whitespce="compact"), "request", ("pointer", "/whitespce")),
        (lambda c: c.json_schema({}, limits={"depht": 1}), "request", ("pointer", "/limits/depht")),
        (lambda c: c.named_grammar("cobol"), "grammar", None),
        (lambda c: c.regex("a", start="x"), "request", None),
        (lambda c: c.grammar("a", "bnf"), "request", None),
        (lambda c: c.tools([], "qwen"), "request", None),
        (lambda c: c.json_schema({}, style="cobol"), None, None),
        (lambda c: c.load("{"), "request", None),
    ],
)
def test_errors_tell_place_and_cure(compiler, make, kind, place):
    with pytest.raises(Error) as caught:
        make(compiler)
    error = caught.value
    assert error.message and error.message in str(error)
    if kind:
        assert error.kind == kind
    if place:
        assert getattr(error, place[0]) == place[1]


def test_settings_are_checked_at_once(bytes_tokenizer):
    with pytest.raises(Error, match="is no setting of a compiler"):
        Compiler(bytes_tokenizer, whitespce="compact")


def test_limits_on_time(compiler):
    with pytest.raises(Error) as caught:
        compiler.json_schema({"type": "object"}, time_limit=0)
    assert (caught.value.kind, caught.value.limit) == ("limit", "time_per_constraint")


def test_equal_constraints_are_compiled_once():
    compiler = Compiler(Tokenizer.of_bytes())
    schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(200)}}
    barrier = threading.Barrier(8)

    def compile():
        barrier.wait()
        compiler.json_schema(schema)

    threads = [threading.Thread(target=compile) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries, used, hits, misses = compiler.cache_info
    assert (entries, hits, misses) == (1, 7, 1) and used > 0
    compiler.clear_cache()
    assert compiler.cache_info[0] == 0


def test_the_cache_is_bounded_in_bytes():
    compiler = Compiler(Tokenizer.of_bytes())
    compiler.regex("a{100}")
    one = compiler.cache_info[1]
    compiler = Compiler(Tokenizer.of_bytes(), cache_bytes=one * 4)
    for at in range(20):
        compiler.regex("a{100}" + "b" * at)
    entries, used, _, misses = compiler.cache_info
    assert 1 <= entries < 20 and used <= one * 4 and misses == 20
    # A refusal is found again, too.
    hits = compiler.cache_info[2]
    for _ in range(2):
        with pytest.raises(Error):
            compiler.regex("(")
    assert compiler.cache_info[2] == hits + 1


@pytest.mark.parametrize("call", ["memory_bytes", "cache_info", "clear_cache"])
def test_figures_leave_the_lock_of_the_interpreter(call):
    """They wait for locks that are held while memories are made."""
    compiler = Compiler(Tokenizer.of_bytes(), precompute=0)
    constraint = compiler.regex("a+")
    run = {
        "memory_bytes": lambda: constraint.memory_bytes,
        "cache_info": lambda: compiler.cache_info,
        "clear_cache": compiler.clear_cache,
    }[call]
    begin, has_run = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: begin.wait() and has_run.set())
    other.start()
    interval = sys.getswitchinterval()
    # From here on a thread runs where another one gives the lock away, and nowhere else.
    sys.setswitchinterval(1000)
    try:
        begin.set()
        end = time.monotonic() + 10
        while not has_run.is_set() and time.monotonic() < end:
            run()
        assert has_run.is_set()
    finally:
        sys.setswitchinterval(interval)
        other.join()


def test_other_threads_run_within_one_call():
    """A thread that counts goes on while a single call of another compiles: the lock of the interpreter is free."""
    compiler = Compiler(Tokenizer.of_bytes(), cache_bytes=0)
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    within = 0
    # Longer and longer calls, for machines that are busy.
    for size in [2_000 << doubling for doubling in range(8)]:
        choices = [f"{at * 7919 % 1000003}" for at in range(size)]
        begin = time.perf_counter()
        compiler.choice(choices)
        end = time.perf_counter()
        within = sum(begin < tick < end for tick in ticks)
        if within > 2:
            break
    done.set()
    thread.join()
    assert within > 2


def test_threads_share_a_matcher_without_harm(compiler):
    matcher = compiler.regex("[ab]*").matcher()

    def run():
        for _ in range(300):
            matcher.accept(97)
            matcher.rollback(1)
            matcher.mask_bytes()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert matcher.steps == 0


def test_memory_outlives_its_makers(bytes_tokenizer):
    matcher = Compiler(bytes_tokenizer).choice(["a"]).matcher()
    gc.collect()
    assert matcher.allowed_tokens() == [97]


def test_lint_and_samples(compiler):
    lint = maskwright.lint({"type": "object", "properties": {"name": {"maxLenght": 5}}, "required": ["nmae"]})
    hints = [finding.message for finding in lint.findings if finding.kind == "hint"]
    assert any("maxLength" in hint for hint in hints) and any("`name`" in hint for hint in hints)
    constraint = compiler.json_schema({"type": "array", "items": {"type": "integer"}, "minItems": 1})
    texts = maskwright.sample(constraint, 30, seed=3, max_bytes=40)
    assert texts == maskwright.sample(constraint, 30, seed=3, max_bytes=40)
    assert all(maskwright.check(constraint, text) and json.loads(text) is not None for text in texts)
    misses = maskwright.sample(constraint, 30, seed=3, near_misses=True)
    assert misses and not any(maskwright.check(constraint, text) for text in misses)
    assert maskwright.lint(constraint).least_bytes == 3
    with pytest.raises(Error, match="nothing to lint"):
        maskwright.lint(compiler.regex("a"))


def tool(name, **parameters):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **parameters}}}


def called(compiler, **options):
    """The names of tools that texts begin with, and whether a text may be empty."""
    constraint = compiler.tools([tool("alpha"), tool("beta")], "json", **options)
    names = {name for name in ("alpha", "beta") if constraint.matcher().accept_bytes(f'[{{"name": "{name}"'.encode())}
    return names, constraint.matcher().is_accepting


def test_choices_of_tools(compiler):
    both = {"alpha", "beta"}
    assert called(compiler, choice="required") == (both, False)
    assert called(compiler, choice="required", allowed=["beta"]) == ({"beta"}, False)
    for named in ({"name": "beta"}, {"type": "function", "function": {"name": "beta"}}):
        assert called(compiler, choice=named) == ({"beta"}, False)
    some = {"mode": "required", "tools": [{"type": "function", "function": {"name": "beta"}}]}
    assert called(compiler, choice={"type": "allowed_tools", "allowed_tools": some}) == ({"beta"}, False)
    for wrong, says in [
        ({"choice": {"foo": 1}}, "no choice of tools"),
        ({"choice": None}, "no choice of tools"),
        ({"choice": "beta"}, "no choice of tools"),
        ({"choice": {"type": "allowed_tools"}}, "no choice of tools"),
        ({"choice": "required", "allowed": ["alpha", "zz"]}, "`zz`"),
        ({"allowed": "beta"}, "list of names"),
        ({"choice": {"name": "alpha"}, "allowed": ["beta"]}, "none of `allowed`"),
        ({"parallel": "x"}, "`parallel`"),
    ]:
        with pytest.raises(Error, match=says):
            called(compiler, **wrong)


def test_options_of_a_call_win(bytes_tokenizer):
    schema = {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 2}

    def text(defaults, **options):
        return maskwright.sample(Compiler(bytes_tokenizer, **defaults).json_schema(schema, **options))[0]

    lines = b"[\n\tnull,\n\tnull\n]"
    assert text({"indent": "\t"}) == lines == text({"whitespace": "compact"}, indent="\t")
    assert text({"indent": 2}, whitespace="compact") == b"[null,null]"
    assert text({"separators": (",", ":")}, whitespace="plain") == b"[null, null]"
    compiler = Compiler(bytes_tokenizer, time_limit=3, limits={"depth": 50})
    settings = json.loads(compiler.regex("a", limits={"time_per_constraint": 1}).spec)["settings"]
    assert settings["limits"] == {"depth": 50, "time_per_constraint": 1}
    limited = Compiler(bytes_tokenizer, limits={"time_per_constraint": 3, "depth": 50})
    settings = json.loads(limited.regex("a", time_limit=1).spec)["settings"]
    assert settings["limits"] == {"depth": 50, "time_per_constraint": 1}
    for options in ({"whitespace": "compact", "indent": 2}, {"time_limit": 1, "limits": {"time_per_constraint": 1}}):
        with pytest.raises(Error, match="stands beside"):
            Compiler(bytes_tokenizer, **options)


@pytest.mark.parametrize("settings, says", [
    ({"regex_dialect": "x"}, "x"),
    ({"reasoning": "x"}, "x"),
    ({"reasoning": True}, "`reasoning`"),
    ({"separators": 5}, "`separators`"),
    ({"separators": (",",)}, "`separators`"),
    ({"stop_token_ids": 5}, "`stop_token_ids`"),
    ({"stop_token_ids": [300]}, "token 300"),
    ({"indent": 2.5}, "`indent`"),
    ({"indent": 10**9}, "up to 64"),
    ({"stop_token_ids": [98.9]}, "`stop_token_ids`"),
    ({"time_limit": float("inf")}, "`time_limit`"),
    ({"start": "root"}, "`start`"),
], ids=str)
def test_settings_are_checked_where_they_are_given(bytes_tokenizer, settings, says):
    with pytest.raises(Error, match=says):
        Compiler(bytes_tokenizer, **settings)


def test_values_of_wrong_types(compiler):
    for make in (
        lambda: compiler.regex(None),
        lambda: compiler.lark(3),
        lambda: compiler.json_schema(None),
        lambda: compiler.choice("abc"),
        lambda: compiler.choice([1, 2]),
        lambda: compiler.choice(None),
        lambda: compiler.choice(["\udc80"]),
        lambda: compiler.regex("\ud800"),
        lambda: compiler.json_schema({"const": "\ud800"}),
        lambda: compiler.json_schema(b"\xff"),
        lambda: compiler.load(compiler.regex("a").spec.replace("a", "\ud800")),
        lambda: compiler.grammar("a", ["lark"]),
        lambda: compiler.tools(None, "hermes"),
        lambda: compiler.tools([], "hermes", allowed=5),
        lambda: compiler.regex("a", limits=5, time_limit=1),
        lambda: compiler.regex("a", stop_token_ids=[-1]),
        lambda: Tokenizer([3, b"a"]),
        lambda: Tokenizer([b"a"], width=1 << 33),
        lambda: Tokenizer([b"a"], index="x"),
        lambda: maskwright.check(compiler.regex("a"), 5),
        lambda: compiler.tokenizer.encode(3),
        lambda: maskwright.check(compiler.regex("a"), "a", whitespace="compact"),
        lambda: maskwright.sample(compiler.regex("a"), 1, foo=3),
        lambda: maskwright.lint(compiler.json_schema({}), foo=3),
        lambda: compiler.regex("a").matcher().fill_tree([97], [-5], numpy.zeros((2, 9), numpy.int32)),
    ):
        with pytest.raises(Error):
            make()
    assert maskwright.allocate_bitmask(2, numpy.int64(33)).shape == (2, 2)
    with pytest.raises(IndexError):
        compiler.regex("a").matcher().fill_tree([97], [-1], numpy.zeros((2, 9), numpy.int32), 2**64 - 1)


@pytest.mark.parametrize("grammar, notation", [
    ('root ::= "a"', "gbnf"),
    ('# a comment\n  my-rule::= [a]', "gbnf"),
    ('start: "a"', "lark"),
    ('// rules like a ::= b\nstart: "a"', "lark"),
    ('start: NAME "::=" NAME\nNAME: /[a-z]+/', "lark"),
])
def test_the_notation_of_a_grammar_that_does_not_say(compiler, grammar, notation):
    assert notation_of(grammar) == notation
    start = {"start": "my-rule"} if "my-rule" in grammar else {}
    assert compiler.grammar(grammar, notation, **start) is not None


def test_a_loaded_constraint_ends_as_it_did(compiler):
    constraint = compiler.regex("a", stop_token_ids=[98])
    assert compiler.load(constraint.spec).stop_token_ids == [98] == constraint.stop_token_ids
    assert compiler.load(constraint.spec, stop_token_ids=[99]).stop_token_ids == [99]


def test_masks_of_a_new_constraint_come_before_they_are_needed():
    schema = {"type": "object", "properties": {"kind": {"enum": ["small", "large"]}}, "additionalProperties": False}

    def memory(precompute):
        compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes(), precompute=precompute)
        constraint = compiler.json_schema(schema)
        compiler.wait_for_masks()
        return constraint, constraint.memory_bytes

    constraint, alone = memory(0)
    _, ahead = memory(10)
    assert ahead > alone + 1000
    texts, masks, out_of_time = constraint.precompute_masks(10)
    assert texts > 0 and masks > 20 and not out_of_time
    assert constraint.precompute_masks(10)[1] == 0
    assert constraint.precompute_masks(0) == (0, 0, True)
    started = threading.Thread(target=constraint.precompute_masks, args=(0.001,))
    started.start()
    started.join(60)
    assert not started.is_alive()
    for seconds in (-1, float("nan")):
        with pytest.raises(maskwright.Error, match="no number of seconds"):
            constraint.precompute_masks(seconds)
        with pytest.raises(maskwright.Error, match="no number of seconds"):
            maskwright.Compiler(maskwright.Tokenizer.of_bytes(), precompute=seconds)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_compiles_without_the_thread_of_its_parent(tmp_path):
    script = tmp_path / "fork.py"
    script.write_text('''
import os, signal
import maskwright

properties = {f"p{n}": {"type": "string", "pattern": "^[a-z]{1,9}$"} for n in range(20)}
for attempt in range(20):
    # The thread is at work, now in one constraint, now in another.
    compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes(), precompute=10)
    constraints = [compiler.json_schema({"properties": properties, "title": str(n)}) for n in range(9)]
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        matcher = compiler.regex("b+").matcher()
        compiler.wait_for_masks()
        expected = constraints[0].matcher().allowed_tokens()
        same = all(constraint.matcher().allowed_tokens() == expected for constraint in constraints)
        own = maskwright.Compiler(maskwright.Tokenizer.of_bytes(), precompute=10).regex("a{9}")
        done = own.precompute_masks(10)
        os._exit(0 if matcher.allowed_tokens() == [98] and same and not done[2] else 1)
    status = os.waitpid(child, 0)[1]
    if status:
        raise SystemExit(status)
''')
    assert subprocess.run([sys.executable, "-W", "ignore", str(script)], timeout=100).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_two_threads_fork_at_the_same_time(tmp_path):
    script = tmp_path / "fork.py"
    script.write_text('''
import os, threading, time

# Runs after the library's own, which were registered later: the other thread begins its fork meanwhile.
os.register_at_fork(before=lambda: time.sleep(0.05))
import maskwright

def fork():
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

threads = [threading.Thread(target=fork) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
''')
    assert subprocess.run([sys.executable, "-W", "ignore", str(script)], timeout=30).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_batches_of_forked_processes(tmp_path):
    """A process that was forked from one which filled a batch has none of its threads, and fills alone."""
    script = tmp_path / "fork.py"
    script.write_text('''
import os, signal
import numpy, maskwright

schema = {"properties": {f"p{n}": {"type": "string", "pattern": "^[a-z]{1,9}$"} for n in range(20)}}
words = maskwright.Tokenizer.of_bytes().words

def fill():
    """Cold masks of many memories, which the cores share."""
    matchers = []
    for n in range(80):
        compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes(), cache_bytes=0)
        matchers.append(compiler.json_schema(schema).matcher())
    rows = numpy.zeros((len(matchers), words), numpy.int32)
    maskwright.fill_masks(matchers, rows)
    return rows

rows = fill()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (fill() == rows).all() else 1)
raise SystemExit(os.waitpid(child, 0)[1])
''')
    assert subprocess.run([sys.executable, "-W", "ignore", str(script)], timeout=100).returncode == 0


def test_ranks_have_no_limits_of_time(monkeypatch):
    """Ranks that each compile for themselves would part where one of them reaches such a limit alone."""
    from maskwright._process_settings import settings_of_process

    monkeypatch.setenv("SETTINGS", '{"whitespace": "compact", "limits": {"depth": 5}}')
    assert settings_of_process("SETTINGS", 5.0, False)["time_limit"] == 5.0
    limits = {"depth": 5, "time_per_constraint": None, "time_per_mask": None}
    assert settings_of_process("SETTINGS", 5.0, True) == {"whitespace": "compact", "regex_dialect": "ecma", "limits": limits}
    for empty in ("", "{}"):
        monkeypatch.setenv("SETTINGS", empty)
        assert settings_of_process("SETTINGS", 5.0, False) == {"time_limit": 5.0, "regex_dialect": "ecma"}
    for wrong in ("{", "[1]", "[" * 100_000):
        monkeypatch.setenv("SETTINGS", wrong)
        with pytest.raises(maskwright.Error, match="SETTINGS is no"):
            settings_of_process("SETTINGS", 5.0, False)
    for settings in ('{"time_limit": 0}', '{"limits": {"time_per_mask": 0}}'):
        monkeypatch.setenv("SETTINGS", settings)
        assert settings_of_process("SETTINGS", 5.0, False)
        with pytest.raises(maskwright.Error, match="would part the ranks"):
            settings_of_process("SETTINGS", 5.0, True)
