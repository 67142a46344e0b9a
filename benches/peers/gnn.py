"""The graph transformer of models/src/gnn.rs: what PyG's TransformerConv computes, with one product for its four layers
and the softmax's division behind the sum, a node at a time in place of an edge at a time.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from job import Job, buffers


class Block(nn.Module):
    def __init__(self, w, i, config):
        super().__init__()
        self.heads, self.eps = config["num_attention_heads"], config["layer_norm_eps"]
        at = lambda name: w[f"blocks.{i}.{name}"]
        parts = [f"conv.lin_{part}" for part in ("query", "key", "value", "skip")]
        buffers(
            self,
            norm1=at("norm1.weight"),
            norm1_b=at("norm1.bias"),
            qkvs=torch.cat([at(f"{part}.weight") for part in parts]),  # (4C, C)
            qkvs_b=torch.cat([at(f"{part}.bias") for part in parts]),
            edge=at("conv.lin_edge.weight"),  # (C, Fe)
            norm2=at("norm2.weight"),
            norm2_b=at("norm2.bias"),
            up=at("mlp.0.weight"),  # (F, C)
            up_b=at("mlp.0.bias"),
            down=at("mlp.2.weight"),  # (C, F)
            down_b=at("mlp.2.bias"),
        )

    def forward(self, x, edge_attr, source, target):  # (N, C), (E, Fe), (E), (E)
        c = x.shape[-1:]
        h = F.layer_norm(x, c, self.norm1, self.norm1_b, self.eps)
        x = x + self.attention(h, edge_attr, source, target)
        h = F.layer_norm(x, c, self.norm2, self.norm2_b, self.eps)
        return x + F.linear(F.gelu(F.linear(h, self.up, self.up_b)), self.down, self.down_b)

    def attention(self, x, edge_attr, source, target):
        q, k, v, skip = F.linear(x, self.qkvs, self.qkvs_b).view(len(x), 4, self.heads, -1).unbind(1)  # (N, H, D)
        return edge_attention(q, k, v, skip, edge_attr, self.edge, source, target)


def edge_attention(q, k, v, skip, edge_attr, w, source, target):
    """q, k, v, skip (N, H, D), edge_attr (E, Fe), w (H·D, Fe), source and target (E) → (N, H·D)"""
    e = F.linear(edge_attr, w).view(-1, *q.shape[1:])  # (E, H, D)
    scores = (q[target] * (k[source] + e)).sum(-1).float() / math.sqrt(q.shape[-1])  # (E, H)
    to = target[:, None].expand_as(scores)
    largest = scores.new_full(q.shape[:2], -math.inf).scatter_reduce(0, to, scores, "amax")
    weight = (scores - largest[target]).exp()
    total = torch.zeros_like(largest).index_add(0, target, weight)  # (N, H)
    message = weight[..., None] * (v[source] + e)  # (E, H, D), f32
    summed = message.new_zeros(q.shape).index_add(0, target, message)  # (N, H, D)
    # A node without edges has a sum of nothing, and nothing to divide.
    mean = (summed / total.clamp_min(1e-16)[..., None]).to(q.dtype)
    return (mean + skip).reshape(len(q), -1)


def segment_mean(x, segment, nodes):
    """The mean over each of G graphs: x (N, C), segment (N) a node's graph, nodes (G, 1) how many it has → (G, C)"""
    summed = x.new_zeros(len(nodes), x.shape[1], dtype=torch.float32).index_add(0, segment, x.float())
    return (summed / nodes).to(x.dtype)


class GraphTransformer(nn.Module):
    def __init__(self, w, config, edge_index, batch, graphs):
        super().__init__()
        self.eps, self.graphs = config["layer_norm_eps"], graphs
        self.blocks = nn.ModuleList(Block(w, i, config) for i in range(config["num_hidden_layers"]))
        ends = {f"{part}{b}": w[f"{part}{dot}"] for part in ("norm", "head") for b, dot in (("", ".weight"), ("_b", ".bias"))}
        buffers(self, proj_in=w["proj_in.weight"], proj_in_b=w["proj_in.bias"], **ends)
        nodes = torch.bincount(batch, minlength=graphs).clamp_min(1)[:, None]  # (G, 1)
        buffers(self, source=edge_index[0], target=edge_index[1], batch=batch, nodes=nodes)

    def forward(self, x, edge_attr):
        """x (N, node_features), edge_attr (E, Fe) → logits (G, classes)"""
        x = F.linear(x, self.proj_in, self.proj_in_b)
        for block in self.blocks:
            x = block(x, edge_attr, self.source, self.target)
        x = F.layer_norm(self.pooled(x), x.shape[-1:], self.norm, self.norm_b, self.eps)
        return F.linear(x, self.head, self.head_b)

    def pooled(self, x):
        """The mean over each graph's nodes: (G, C)"""
        if self.graphs == 1:
            return x.mean(0, keepdim=True)
        return segment_mean(x, self.batch, self.nodes)


def load(workload, config, w, inputs, dtype, device):
    graph = [inputs["edge_index"], inputs["batch"], int(inputs["num_graphs"])]

    def by_pyg():
        import pyg  # the other modes do without it

        return pyg.GraphTransformer(w, config, *graph).to(device, dtype)

    forward = GraphTransformer(w, config, *graph).to(device)
    return Job(forward, [(inputs["x"], inputs["edge_attr"])], by_pyg)
