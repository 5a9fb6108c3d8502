"""A folder with a trained model of 260 thousand weights as hosts read it."""

import json
import pathlib
import shutil


def stories(shared, folder):
    """Copies the model to a folder of `folder`, and adds the names of the special tokens, which it lacks."""
    made = pathlib.Path(folder) / "stories260K"
    made.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(shared / "models/stories260K" / name, made)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (made / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **names}))
    return made
