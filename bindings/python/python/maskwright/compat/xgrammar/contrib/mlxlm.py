"""`xgrammar.contrib.mlxlm`: the logits processor of mlx-lm."""

from __future__ import annotations

from ....mlx import LogitsProcessor
from .. import CompiledGrammar


class XGrammarLogitsProcessor(LogitsProcessor):
    """Masks logits so that the text is one of the grammar. Unlike XGrammar's, it needs no Metal, and follows drafts."""

    def __init__(self, grammar: CompiledGrammar, max_rollback_tokens: int = 16) -> None:
        super().__init__(grammar.constraint)
