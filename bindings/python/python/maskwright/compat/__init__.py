"""The Python interfaces of XGrammar and llguidance over Maskwright: programs run after a change of an import.

```python
import maskwright.compat.xgrammar as xgr        # instead of: import xgrammar as xgr
import maskwright.compat.llguidance as llg      # instead of: import llguidance as llg
```

Names and arguments are theirs; meanings are Maskwright's, which are exact. Where these differ, the module says so.
"""
