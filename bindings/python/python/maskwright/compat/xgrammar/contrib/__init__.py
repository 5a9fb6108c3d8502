"""Logits processors of hosts, as `xgrammar.contrib` has them; each needs its host."""
