"""The model that the demo trains: a byte-level GPT, pre-norm, with learned positions."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

BYTES = 256


@dataclass(frozen=True)
class Shape:
    """25 million parameters, nearly all of them in the blocks."""

    layers: int = 8
    width: int = 512
    heads: int = 8
    length: int = 256  # tokens of context


class Block(nn.Module):
    """Maps [batch, length, width] to the same shape."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.qkv, self.projection = nn.Linear(shape.width, 3 * shape.width), nn.Linear(shape.width, shape.width)
        self.up, self.down = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm_mlp(x)), approximate="tanh"))


class GPT(nn.Module):
    """Maps bytes [batch, length] to scores of the next byte [batch, length, 256]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(BYTES, shape.width), nn.Embedding(shape.length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm, self.head = nn.LayerNorm(shape.width), nn.Linear(shape.width, BYTES, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.embedding(text) + self.positions(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
