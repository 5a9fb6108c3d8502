"""mlx-lm: a logits processor for `generate`, `stream_generate`, and speculative decoding.

```python
model, tokenizer = mlx_lm.load(name)
compiler = maskwright.mlx.compiler(model, tokenizer)
processor = maskwright.mlx.LogitsProcessor(compiler.json_schema(schema))
mlx_lm.generate(model, tokenizer, prompt, logits_processors=[processor])
```
"""

from __future__ import annotations

from typing import Any, Optional

import mlx.core as mx

from ._compiler import Compiler
from ._history import SingleText
from ._native import Constraint
from ._numpy import allowed_bits
from ._tokenizer import Tokenizer


def compiler(model: Any, tokenizer: Any, *, width: Optional[int] = None, **settings: Any) -> Compiler:
    """The compiler of a model and its tokenizer (mlx-lm's wrapper or that of transformers). `width` is that of the
    logits, where the model's arguments do not tell."""
    stop = sorted(getattr(tokenizer, "eos_token_ids", None) or [tokenizer.eos_token_id])
    source = Tokenizer(getattr(tokenizer, "_tokenizer", tokenizer))
    width = width or getattr(getattr(model, "args", None), "vocab_size", None) or source.width
    return Compiler(Tokenizer(source, width=max(width, source.width), stop_token_ids=stop), **settings)


class LogitsProcessor:
    """Masks logits so that the text is one of the constraint. Told by the tokens so far, so drafts that are taken back
    are followed, and one processor serves any number of calls, also the rows of `batch_generate`; where a prompt is an
    earlier one and one token more that the constraint allows, call `reset` between."""

    def __init__(self, constraint: Constraint) -> None:
        self._text = SingleText(constraint, interleaved=True)

    def reset(self) -> None:
        """Forgets the text: the next call begins a generation."""
        self._text.reset()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        matcher = self._text.matcher_after(tokens.tolist(), logits.shape[-1])
        if matcher is None:
            return logits
        return mx.where(mx.array(allowed_bits(matcher, logits.shape[-1])), logits, -mx.inf)
