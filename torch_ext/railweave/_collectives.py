"""Torch's flat collectives by their names since 2.13, where the old ones warn."""

import torch.distributed as dist

all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
