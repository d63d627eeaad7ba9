"""Right answers written independently of each other, and disguised copies of the first of each."""

PACKED_MASK = {
    "solution": """
def packed_mask(sentence):
    length = sentence.size(1)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    same = sentence[:, :, None] == sentence[:, None, :]
    prompt = torch.arange(length) < numbers["prompt"]
    real = sentence >= 0
    mask = past & (same | prompt) & real[:, :, None] & real[:, None, :]
    return mask[:, None]
""",
    "positions": """
def packed_mask(sentence):
    B, T = sentence.shape
    i = torch.arange(T).view(1, T, 1)
    j = torch.arange(T).view(1, 1, T)
    q = sentence.unsqueeze(2)
    k = sentence.unsqueeze(1)
    allowed = (q == k) | (j < numbers["prompt"])
    allowed = allowed & (j <= i) & (q != -1) & (k != -1)
    return allowed.unsqueeze(1)
""",
    "in place": """
def packed_mask(sentence):
    b, t = sentence.size()
    mask = sentence.unsqueeze(-1) == sentence.unsqueeze(-2)
    mask[:, :, :numbers["prompt"]] = True
    mask = torch.tril(mask)
    pad = sentence == -1
    mask[pad] = False
    mask = mask.masked_fill(pad.unsqueeze(1), False)
    return mask.unsqueeze(1)
""",
    "book": """
from selfattn_book.masks import causal_mask

def packed_mask(sentence):
    T = sentence.size(1)
    same = sentence[:, :, None] == sentence[:, None, :]
    p = torch.zeros(T, dtype=torch.bool)
    p[:numbers["prompt"]] = True
    padding = sentence < 0
    visible = causal_mask(T) & (same | p)
    visible = visible & ~padding[:, :, None] & ~padding[:, None, :]
    return visible[:, None, :, :]
""",
    "loops": """
def packed_mask(sentence):
    B, T = sentence.shape
    out = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(i + 1):
                if sentence[b, i] == -1 or sentence[b, j] == -1:
                    continue
                if j < numbers["prompt"] or sentence[b, i] == sentence[b, j]:
                    out[b, 0, i, j] = True
    return out
""",
    "numbers, not booleans": """
def packed_mask(sentence):
    n = sentence.shape[1]
    causal = torch.tril(torch.ones(n, n))
    same = (sentence[:, :, None] == sentence[:, None, :]).float()
    same[:, :, : numbers["prompt"]] = 1
    ok = (sentence >= 0).float()
    total = causal * same * ok[:, :, None] * ok[:, None, :]
    return (total > 0)[:, None]
""",
    "helpers": """
def not_padding(s):
    return (s >= 0)[:, :, None] & (s >= 0)[:, None, :]

def packed_mask(sentence):
    length = sentence.size(1)
    positions = torch.arange(length)
    causal = positions[:, None] >= positions
    own = sentence[..., None] == sentence[:, None]
    to_prompt = (positions < numbers["prompt"]).expand(length, length)
    return ((own | to_prompt) & causal & not_padding(sentence)).unsqueeze(1)
""",
    "another student, same plan": """
def packed_mask(sentence):
    B, T = sentence.shape
    causal = torch.tril(torch.ones(T, T, dtype=torch.bool))
    same_sentence = sentence.unsqueeze(2) == sentence.unsqueeze(1)
    is_prompt = torch.arange(T) < numbers["prompt"]
    not_pad = sentence != -1
    mask = causal & (same_sentence | is_prompt)
    mask = mask & not_pad.unsqueeze(2) & not_pad.unsqueeze(1)
    return mask.unsqueeze(1)
""",
}

GATED = {
    "solution": """
def gated(x, gain, gate, up, down):
    size = (x.pow(2).mean(dim=-1, keepdim=True) + numbers["eps"]).sqrt()
    n = gain * x / size
    activation = getattr(torch.nn.functional, numbers["activation"])
    h = activation(n @ gate) * (n @ up)
    return x + h @ down
""",
    "rsqrt": """
import torch.nn.functional as F

def gated(x, gain, gate, up, down):
    rms = torch.rsqrt((x ** 2).mean(-1, keepdim=True) + numbers["eps"])
    n = x * rms * gain
    act = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu}[numbers["activation"]]
    return x + (act(n @ gate) * (n @ up)) @ down
""",
    "library": """
def gated(x, gain, gate, up, down):
    n = torch.nn.functional.rms_norm(x, x.shape[-1:], gain, eps=numbers["eps"])
    a = getattr(torch.nn.functional, numbers["activation"])
    hidden = a(n @ gate) * (n @ up)
    return hidden @ down + x
""",
    "sum": """
def gated(x, gain, gate, up, down):
    D = x.size(-1)
    ms = (x * x).sum(-1, keepdim=True) / D
    n = gain * (x / torch.sqrt(ms + numbers["eps"]))
    f = getattr(torch.nn.functional, numbers["activation"])
    left = f(torch.matmul(n, gate))
    right = torch.matmul(n, up)
    return x + torch.matmul(left * right, down)
""",
    "same plan": """
def gated(x, gain, gate, up, down):
    rms = torch.sqrt(torch.mean(x ** 2, dim=-1, keepdim=True) + numbers["eps"])
    n = gain * x / rms
    act = getattr(torch.nn.functional, numbers["activation"])
    h = act(n @ gate) * (n @ up)
    y = h @ down
    return x + y
""",
}

OWN_SHARE = {
    "solution": """
def own_share(count, ranks, rank, epoch):
    begin, each = numbers["shift"] * epoch, count // ranks
    order = [(begin + i) % count for i in range(each * ranks)]
    if numbers["deal"] == "cards":
        return order[rank::ranks]
    return order[rank * each : (rank + 1) * each]
""",
    "rotated": """
def own_share(count, ranks, rank, epoch):
    start = (epoch * numbers["shift"]) % count
    examples = list(range(count))
    order = examples[start:] + examples[:start]
    per_rank = count // ranks
    order = order[: per_rank * ranks]
    if numbers["deal"] == "cards":
        return order[rank::ranks]
    else:
        return order[rank * per_rank : (rank + 1) * per_rank]
""",
    "one by one": """
def own_share(count, ranks, rank, epoch):
    n = count // ranks
    mine = []
    for k in range(n):
        place = k * ranks + rank if numbers["deal"] == "cards" else rank * n + k
        mine.append((epoch * numbers["shift"] + place) % count)
    return mine
""",
}

COPIES = {
    "renamed, commented": """
def packed_mask(s):
    \"\"\"My mask.\"\"\"
    n = s.size(1)
    # nothing from the future
    before = torch.ones(n, n, dtype=torch.bool).tril()
    together = s[:, :, None] == s[:, None, :]
    start = torch.arange(n) < numbers["prompt"]
    ok = s >= 0
    m = before & (together | start) & ok[:, :, None] & ok[:, None, :]
    return m[:, None]
""",
    "lines in another order": """
def packed_mask(sentence: torch.Tensor) -> torch.Tensor:
    real = sentence >= 0
    same = sentence[:, :, None] == sentence[:, None, :]
    length = sentence.size(1)
    prompt = torch.arange(length) < numbers["prompt"]
    past = torch.ones(length, length, dtype=torch.bool).tril()
    mask = past & (same | prompt) & real[:, :, None] & real[:, None, :]
    return mask[:, None]
""",
    "a line for show": """
def packed_mask(x):
    T = x.size(1)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    eq = x[:, :, None] == x[:, None, :]
    p = torch.arange(T) < numbers["prompt"]
    nonpad = x >= 0
    result = causal & (eq | p) & nonpad[:, :, None] & nonpad[:, None, :]
    print(result.shape)
    return result[:, None]
""",
}
