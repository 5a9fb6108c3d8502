"""`xgrammar.contrib.hf`: the logits processor of transformers."""

from __future__ import annotations

from typing import List, Union

from ....transformers import LogitsProcessor as _LogitsProcessor
from .. import CompiledGrammar


class LogitsProcessor(_LogitsProcessor):
    """Masks logits so that each text is one of its grammar. Unlike XGrammar's, one serves any number of calls of
    `generate`, and follows beams and drafts."""

    def __init__(self, compiled_grammar: Union[CompiledGrammar, List[CompiledGrammar]]) -> None:
        grammars = compiled_grammar if isinstance(compiled_grammar, list) else [compiled_grammar]
        super().__init__([grammar.constraint for grammar in grammars])
