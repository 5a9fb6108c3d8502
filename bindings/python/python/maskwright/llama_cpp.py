"""llama-cpp-python: a logits processor for `Llama.create_completion` and `create_chat_completion`.

```python
compiler = maskwright.llama_cpp.compiler(llama)
processor = maskwright.llama_cpp.LogitsProcessor(compiler.json_schema(schema))
llama.create_completion(prompt, logits_processor=[processor], max_tokens=200)
```
"""

from __future__ import annotations

from typing import Any

import numpy

from ._compiler import Compiler
from ._errors import error
from ._history import SingleText
from ._native import Constraint
from ._numpy import allowed_bits
from ._tokenizer import Tokenizer


def compiler(llama: Any, **settings: Any) -> Compiler:
    """The compiler of a `Llama`: its vocabulary as the GGUF file has it.

    Errors if it has a `draft_model`: llama-cpp-python then hands the drafts to its processors as if they were text.
    """
    if getattr(llama, "draft_model", None) is not None:
        raise error("the `Llama` has a `draft_model`, whose drafts it shows as text", "make it without `draft_model`")
    return Compiler(Tokenizer(llama.model_path, width=llama.n_vocab()), **settings)


class LogitsProcessor:
    """Masks logits so that the text is one of the constraint. Told by the tokens so far, so one processor serves any
    number of calls, one at a time; where a prompt is the last one and one token more that the constraint allows, call
    `reset` between."""

    def __init__(self, constraint: Constraint) -> None:
        self._text = SingleText(constraint)

    def reset(self) -> None:
        """Forgets the text: the next call begins a generation."""
        self._text.reset()

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        matcher = self._text.matcher_after(numpy.asarray(input_ids).tolist(), scores.shape[-1])
        if matcher is None:
            return scores
        return numpy.where(allowed_bits(matcher, scores.shape[-1]), scores, -numpy.inf).astype(scores.dtype)
