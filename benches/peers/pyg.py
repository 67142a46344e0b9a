"""The graph transformer of models/src/gnn.rs as a user of PyG writes it: `torch_geometric.nn.TransformerConv`, op by op."""

from torch import nn
from torch_geometric.nn import TransformerConv, global_mean_pool


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        c, heads, inner = (config[name] for name in ("hidden_size", "num_attention_heads", "intermediate_size"))
        self.norm1 = nn.LayerNorm(c, config["layer_norm_eps"])
        self.conv = TransformerConv(c, c // heads, heads, edge_dim=config["edge_features"])
        self.norm2 = nn.LayerNorm(c, config["layer_norm_eps"])
        self.mlp = nn.Sequential(nn.Linear(c, inner), nn.GELU(), nn.Linear(inner, c))

    def forward(self, x, edge_index, edge_attr):  # (N, C), (2, E), (E, Fe) → (N, C)
        x = x + self.conv(self.norm1(x), edge_index, edge_attr)
        return x + self.mlp(self.norm2(x))


class GraphTransformer(nn.Module):
    def __init__(self, w, config, edge_index, batch, graphs):
        super().__init__()
        c = config["hidden_size"]
        self.proj_in = nn.Linear(config["node_features"], c)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.LayerNorm(c, config["layer_norm_eps"])
        self.head = nn.Linear(c, config["num_classes"])
        self.load_state_dict(w)
        self.edge_index, self.batch, self.graphs = edge_index, batch, graphs

    def forward(self, x, edge_attr):
        """x (N, node_features), edge_attr (E, Fe) → logits (G, classes)"""
        x = self.proj_in(x)
        for block in self.blocks:
            x = block(x, self.edge_index, edge_attr)
        return self.head(self.norm(global_mean_pool(x, self.batch, self.graphs)))
