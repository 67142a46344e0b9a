"""Graph transformers: PyG's TransformerConv in pre-norm blocks, mean pooling, a linear head."""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch_geometric.nn import TransformerConv, global_mean_pool

from common import fresh, randomize, write_case, write_json

NODE_FEATURES, EDGE_FEATURES = 6, 5


class Block(nn.Module):
    def __init__(self, c: int, heads: int, edge_features: int, inner: int, eps: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(c, eps)
        self.conv = TransformerConv(c, c // heads, heads, edge_dim=edge_features)
        self.norm2 = nn.LayerNorm(c, eps)
        self.mlp = nn.Sequential(nn.Linear(c, inner), nn.GELU(), nn.Linear(inner, c))

    def forward(self, x, edge_index, edge_attr):  # (N, C), (2, E), (E, edge_features) → (N, C)
        x = x + self.conv(self.norm1(x), edge_index, edge_attr)
        return x + self.mlp(self.norm2(x))


class GraphTransformer(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        c, eps = config["hidden_size"], config["layer_norm_eps"]
        heads, inner = config["num_attention_heads"], config["intermediate_size"]
        self.proj_in = nn.Linear(config["node_features"], c)
        self.blocks = nn.ModuleList(
            Block(c, heads, config["edge_features"], inner, eps)
            for _ in range(config["num_hidden_layers"])
        )
        self.norm = nn.LayerNorm(c, eps)
        self.head = nn.Linear(c, config["num_classes"])

    def forward(self, x, edge_index, edge_attr, batch, num_graphs: int):  # → (G, classes)
        x = self.proj_in(x)
        for block in self.blocks:
            x = block(x, edge_index, edge_attr)
        return self.head(self.norm(global_mean_pool(x, batch, num_graphs)))


def make(out: Path) -> None:
    make_case(fresh(out / "gnn-plain"), 301, sizes=[5, 9, 4, 7], edges=random_edges([5, 9, 4, 7]))
    make_case(
        fresh(out / "gnn-awkward"), 302, sizes=[6, 3, 1, 4], edges=awkward_edges(),
        num_attention_heads=2, layer_norm_eps=1e-2,
    )
    make_case(fresh(out / "gnn-noedges"), 303, sizes=[4, 2], edges=[], num_classes=2)


def random_edges(sizes: list[int]) -> list[tuple[int, int]]:
    """Three directed edges a node, within its graph, no loops, in no order at all."""
    rng = torch.Generator().manual_seed(10)
    edges, start = [], 0
    for n in sizes:
        for pair in torch.randperm(n * (n - 1), generator=rng)[: 3 * n].tolist():
            source, step = pair // (n - 1), 1 + pair % (n - 1)
            edges.append((start + source, start + (source + step) % n))
        start += n
    return [edges[i] for i in torch.randperm(len(edges), generator=rng)]


def awkward_edges() -> list[tuple[int, int]]:
    """Graphs of 6, 3, 1 and 4 nodes; (source, destination)."""
    return [
        (13, 10), (1, 0), (4, 0), (1, 0), (10, 13),  # 1 → 0 three times, attributes differ
        (3, 3), (0, 1), (1, 0), (3, 3), (2, 3),  # a self loop, twice
        (0, 4), (11, 10), (12, 12),  # 12 hears only itself
    ]  # 5 is isolated; 2 and 11 only send; graphs 1 (6, 7, 8) and 2 (9) have no edge


def make_case(folder: Path, seed: int, sizes: list[int], edges: list, **overrides) -> None:
    config = dict(
        node_features=NODE_FEATURES, edge_features=EDGE_FEATURES, hidden_size=32,
        num_attention_heads=4, num_hidden_layers=2, intermediate_size=56, num_classes=10,
        layer_norm_eps=1e-5,
    ) | overrides
    model = GraphTransformer(config)
    randomize(model, seed)

    rng = torch.Generator().manual_seed(seed + 50)
    inputs = dict(
        x=torch.randn((sum(sizes), NODE_FEATURES), generator=rng),  # (N, node features)
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T,  # (2, E)
        edge_attr=torch.randn((len(edges), EDGE_FEATURES), generator=rng),  # (E, edge features)
        batch=torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)),  # (N)
    )
    logits = model(**inputs, num_graphs=len(sizes))  # (G, classes)

    write_json(folder / "config.json", config)
    save_file(model.state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    write_case(folder, **inputs, num_graphs=torch.tensor([len(sizes)]), logits=logits)
