"""The live figure of heads: random entries, and where multi-head attention brings them."""

import torch
from torch import nn

from selfattn_book.figures.heads_steps import follow_entry
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention

WORDS = ["tree", "rock", "nurse", "chair"]


class Scrambled(MultiHeadAttention):
    def _split_heads(self, x):
        return x.reshape(x.size(0), -1, x.size(1), self.d_head)


def an_entry(chance):
    """Draw any step of any entry."""
    word, c, kind, step = torch.randint(12, (4,), generator=chance).tolist()
    return follow_entry(WORDS, (word % 4, c % 4), scrambled=kind % 2 == 0, step=step % 6)


def reached(chance):
    """Give an entry of 1 to a module that attends equally to all positions up to each one."""
    word, c, scrambled = torch.randint(4, (3,), generator=chance).tolist()
    module = (Scrambled if scrambled % 2 else MultiHeadAttention)(4, 2).double()
    for name in ("query", "key"):
        for weight in module.get_submodule(f"project_{name}").parameters():
            nn.init.zeros_(weight)
    module.project_value = module.project_output = nn.Identity()
    x = torch.zeros(1, 4, 4, dtype=torch.float64)
    x[0, word, c] = 1
    with torch.no_grad():
        output, _ = module(x, x, x, causal_mask(4))
    state = {"names": WORDS, "entry": [word, c], "scrambled": scrambled % 2 == 1, "step": 5}
    return state, {"outputs": output[0]}
