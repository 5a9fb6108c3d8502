"""Where SGLang looks for some of them."""

from . import reconstruct_indices_from_tree_mask  # noqa: F401
