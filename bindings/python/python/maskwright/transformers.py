"""Hugging Face transformers: a logits processor for `model.generate`.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer
import maskwright, maskwright.transformers

model, tokenizer = AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
compiler = maskwright.transformers.compiler(model, tokenizer)
processor = maskwright.transformers.LogitsProcessor(compiler.json_schema(schema))
model.generate(**tokenizer(prompt, return_tensors="pt"), logits_processor=[processor], max_new_tokens=200)
```
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

import torch
import transformers

from ._compiler import Compiler
from ._errors import error
from ._history import OpenGenerations, Rows, check_width
from ._native import Constraint
from ._tokenizer import Tokenizer
from ._torch import apply_bitmask
from . import fill_masks


def compiler(model: Any, tokenizer: Any, **settings: Any) -> Compiler:
    """The compiler of a model: masks as wide as its logits, texts that end with the tokens that `generate` ends
    with."""
    stop = getattr(model.generation_config, "eos_token_id", None)
    stop = tokenizer.eos_token_id if stop is None else stop
    stop = [] if stop is None else list(stop) if isinstance(stop, (list, tuple)) else [stop]
    # Added tokens may lie beyond the logits that the configuration tells of.
    width = max(model.config.get_text_config().vocab_size, _head_width(model.get_output_embeddings()))
    return Compiler(Tokenizer(Tokenizer(tokenizer), width=width, stop_token_ids=stop), **settings)


def _head_width(head: Any) -> int:
    """The width of the logits of a head; 0 where it does not tell. The weights of a quantised head are packed, or have
    another name."""
    width = getattr(head, "out_features", None)
    if isinstance(width, int):
        return width
    shape = getattr(getattr(head, "weight", None), "shape", ())
    return int(shape[0]) if len(shape) > 0 else 0


class LogitsProcessor(transformers.LogitsProcessor):
    """Masks logits so that each text is one of its constraint.

    `constraints` is one for all texts, or one for each prompt of the batch (`None`: free text). Rows are identified by
    their token histories, so beams, sampled sequences, assisted generation and prompt lookup are followed, and one
    processor serves any number of calls of `generate`, one at a time. A row goes on with a text if it is a row of an
    earlier call and one token more that its constraint allows; others are prompts. Where a prompt is one that was shown
    before and one such token more, call `reset` between.

    Rows whose history a constraint does not allow keep their scores: dead beams are such rows. Where that holds of all rows
    from their last tokens on, these begin texts anew: so does a text that something else led out of its constraint, for
    `min_new_tokens`, `bad_words_ids`, `suppress_tokens` and forced tokens can forbid all that the constraint allows.
    `maskwright.check` says whether that happened.
    """

    supports_continuous_batching = False

    def __init__(self, constraints: Union[Constraint, Sequence[Optional[Constraint]]]) -> None:
        self._constraints = [constraints] if isinstance(constraints, Constraint) else list(constraints)
        words = {constraint.words for constraint in self._constraints if constraint is not None}
        if len(words) != 1:
            raise error("the constraints are of no tokenizer, or of several", "compile them with one compiler")
        self._words = words.pop()
        self.reset()

    def reset(self) -> None:
        """Forgets the texts so far: the next call begins a generation."""
        self._generations = OpenGenerations(Rows)
        self._width: Optional[int] = None
        self._bitmask = torch.empty((0, self._words), dtype=torch.int32)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        check_width(self._words, scores.shape[-1])
        rows = input_ids.tolist()
        is_known_prompt = self._generations.begins_with(rows)
        followed, histories, begins = self._generations.of(rows)
        if begins and not is_known_prompt and self._width not in (None, scores.shape[-1]):
            raise error(
                f"the model has {scores.shape[-1]} logits, that of the call before had {self._width}",
                "let a draft model have the model's own tokenizer; call `reset` before another model's text",
            )
        self._width = scores.shape[-1]
        count = len(self._constraints)
        if len(rows) % count:
            raise error(f"{len(rows)} rows with {count} constraints", "give one constraint a prompt")
        constraints = [self._constraints[index * count // len(rows)] for index in range(len(rows))]
        followers = followed.move_to(histories, constraints)
        if followed.lost_at_end:
            # Prompts that are the last ones and one token more; or drafts, after which the former text goes on.
            followers = self._generations.begin(rows).move_to([[] for _ in rows], constraints)
        live = [(index, follower) for index, follower in enumerate(followers) if follower is not None]
        if not live:
            return scores
        if len(self._bitmask) < len(rows):
            self._bitmask = torch.empty((len(rows), self._words), dtype=torch.int32)
        indices = [index for index, _ in live]
        fill_masks([follower.matcher for _, follower in live], self._bitmask, indices)
        scores = scores.clone()
        if len(live) == len(rows):
            apply_bitmask(scores, self._bitmask[: len(rows)])
        else:
            some = scores[indices]
            apply_bitmask(some, self._bitmask[indices])
            scores[indices] = some
        return scores


__all__ = ["LogitsProcessor", "apply_bitmask", "compiler"]
