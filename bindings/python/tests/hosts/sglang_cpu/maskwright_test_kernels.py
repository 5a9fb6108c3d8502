"""A plugin of SGLang for tests: the attention that torch computes also verifies chains of drafts. Their rows follow
the text, so that they are read like the rest of a prompt; only the lengths are missing."""

import torch


def register():
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend as Backend

    original = Backend._run_sdpa_forward_extend
    if getattr(original, "_verifies", False):
        return

    def extend(self, query, output, keys, values, tokens, rows, lengths, prefixes, extended, *rest, **options):
        if prefixes is None:
            drafts = query.shape[0] // lengths.shape[0]
            prefixes, extended, lengths = lengths, torch.full_like(lengths, drafts), lengths + drafts
        return original(self, query, output, keys, values, tokens, rows, lengths, prefixes, extended, *rest, **options)

    extend._verifies = True
    Backend._run_sdpa_forward_extend = extend
