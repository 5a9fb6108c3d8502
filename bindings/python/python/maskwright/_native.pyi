"""The half of the package in Rust."""

import os
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union, final

from ._results import Explanation

__all__: List[str]
__version__: str

@final
class Tokenizer:
    @staticmethod
    def _from_file(path: Union[str, os.PathLike[str]], index: Union[str, os.PathLike[str], None] = None) -> Tokenizer: ...
    @staticmethod
    def _from_json(json: bytes) -> Tokenizer: ...
    @staticmethod
    def _from_tokens(
        tokens: Sequence[Optional[bytes]], special: Sequence[Tuple[int, str]], end: Sequence[int]
    ) -> Tokenizer: ...
    def _with(self, width: Optional[int] = None, stop_token_ids: Optional[Sequence[int]] = None) -> Tokenizer: ...
    @property
    def width(self) -> int: ...
    @property
    def stop_token_ids(self) -> List[int]: ...
    def decode(self, ids: Sequence[int]) -> bytes: ...
    def token_bytes(self, id: int) -> Optional[bytes]: ...
    def token_name(self, id: int) -> str: ...
    def special(self, name: str) -> Optional[int]: ...
    def is_special(self, id: int) -> bool: ...
    def encode_greedily(self, text: bytes) -> List[int]: ...
    def __len__(self) -> int: ...

@final
class Compiler:
    def __new__(cls, tokenizer: Tokenizer, cache_bytes: int, precompute: float) -> Compiler: ...
    def wait_for_masks(self) -> None: ...
    def _compile(self, spec: str) -> Constraint: ...
    def _check(self, spec: str) -> None: ...
    @property
    def cache_info(self) -> Tuple[int, int, int, int]: ...
    def clear_cache(self) -> None: ...

@final
class Constraint:
    """A compiled constraint, shared by any number of matchers and threads."""

    def matcher(self) -> Matcher:
        """A matcher at the start of a text."""
    @property
    def kind(self) -> str:
        """The kind: `json_schema`, `regex`, `lark` and so on."""
    @property
    def spec(self) -> str:
        """What it was compiled from, as JSON: `Compiler.load` compiles it again."""
    @property
    def words(self) -> int:
        """The words of a mask row."""
    @property
    def stop_token_ids(self) -> List[int]:
        """The tokens that end its texts."""
    @property
    def memory_bytes(self) -> int:
        """About how many bytes it takes, with what its matchers have learned."""
    @property
    def has_captures(self) -> bool:
        """Whether its grammar names parts of the text."""
    def tokens_needed(self) -> Tuple[int, bool]:
        """An upper bound on the tokens of its shortest text, and whether it is exact."""
    def precompute_masks(self, seconds: float) -> Tuple[int, int, bool]:
        """Computes masks that texts will probably need, for `seconds` at most: the texts that were tried, the masks that
        were not known before, and whether the time was over before texts ceased to bring new ones."""
    def _check(self, text: bytes) -> dict[str, Any]: ...
    def _sample(
        self, count: int, seed: int, bounds: Tuple[int, int, Optional[int]], near_misses: bool
    ) -> List[bytes]: ...

@final
class Matcher:
    """One text under a constraint. Calls of several threads come one after the other."""

    def accept(self, token: int) -> bool:
        """Takes a token; whether it is allowed. One that is not leaves the matcher as it was. Tokens after the end
        change nothing and are `True`."""
    def accept_tokens(self, tokens: Sequence[int]) -> bool:
        """Takes tokens, all or none; whether all are allowed."""
    def accept_bytes(self, text: bytes) -> bool:
        """Takes text, whatever tokens it may be made of, as one step; whether it is allowed."""
    def validate(self, tokens: Sequence[int]) -> int:
        """The number of tokens, from the first, that could be accepted, up to the end of the text. The matcher
        stays as it was."""
    def fill(self, bitmask: Any, index: int = 0) -> bool:
        """Writes the mask into a row of a bitmask (NumPy, torch, any writable buffer of int32); whether it leaves
        out any token."""
    def fill_pointer(self, address: int, words: int) -> bool:
        """Writes the mask to an address: `words` words of 32 bits, which the caller must own. A wrong address is
        undefined behaviour, as in `ctypes`."""
    def fill_within(self, bitmask: Any, tokens: int, index: int = 0) -> None:
        """Writes the mask after which the text can still be completed within `tokens` tokens, the next one counted
        and the end token not."""
    def fill_tree(self, tokens: Sequence[int], parents: Sequence[int], bitmask: Any, index: int = 0) -> None:
        """Writes the masks along a tree of draft tokens: row `index` is the mask here, row `index + i + 1` that after
        token `i`, whose predecessor is `parents[i]` (-1: the text so far). Rows of tokens that are not allowed, as
        negative ones are (padding), are empty; that of an allowed end token has the end tokens. The matcher
        stays as it was."""
    def mask_bytes(self) -> bytes:
        """The mask: `ceil(width / 32)` words of 32 bits, little-endian."""
    def allowed_tokens(self) -> List[int]:
        """The tokens that may come next, ascending."""
    def rollback(self, steps: int = 1) -> None:
        """Takes back the last steps."""
    def reset(self) -> None:
        """Goes back to the start of the text."""
    def fork(self) -> Matcher:
        """Another matcher at the same place."""
    def forced_bytes(self, limit: int = 4096) -> bytes:
        """The bytes about which the constraint leaves no choice."""
    def forced_tokens(self, encode: Callable[[bytes], Sequence[int]], limit: int = 4096) -> List[int]:
        """The tokens about which the constraint leaves no choice, as `encode` (such as `Tokenizer.encode`) cuts the
        text; they are not accepted yet."""
    @property
    def is_terminated(self) -> bool:
        """Whether an end token was taken."""
    @property
    def is_accepting(self) -> bool:
        """Whether the text is complete as it is."""
    @property
    def steps(self) -> int:
        """The number of steps taken."""
    @property
    def temperature(self) -> Optional[float]:
        """The temperature that the grammar wants for the next token, if it says one."""
    @property
    def stop_token_ids(self) -> List[int]:
        """The tokens that end a text."""
    @property
    def words(self) -> int:
        """The words of a mask row."""
    def tokens_to_finish(self) -> Tuple[int, bool]:
        """An upper bound on the tokens that complete the text, the end token not counted, and whether it is exact."""
    def check_budget(self, tokens: int) -> None:
        """Raises an error if so many tokens are not enough to complete the text."""
    def explain(self, token: int) -> Explanation:
        """Why a token is allowed here or not."""
    def expected(self) -> str:
        """What may come next, in words."""
    def captures(self) -> List[Tuple[str, bytes, int, int]]:
        """The parts of the text that the grammar names: name, bytes, begin and end."""

def _pause_for_fork() -> None: ...
def _resume_after_fork(is_child: bool) -> None: ...
def _fill_masks(matchers: Sequence[Matcher], bitmask: Any, indices: Optional[Sequence[int]] = None) -> None: ...
def _lint(
    spec: str,
) -> Tuple[List[Tuple[str, Optional[int], Optional[int], str, str]], Optional[int], Optional[int]]: ...
def _names() -> Tuple[List[str], List[str]]: ...
