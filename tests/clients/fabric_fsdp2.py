"""Lightning Fabric: FSDP2 by ModelParallelStrategy; over railweave with its overlap."""

import tiny
import torch.distributed as dist
from lightning.fabric import Fabric
from lightning.fabric.strategies import ModelParallelStrategy
from torch.distributed.fsdp import fully_shard


def sharded(model, device_mesh):
    """Shards each linear layer, then the model."""
    mesh = device_mesh["data_parallel"]
    for layer in model:
        if next(layer.parameters(), None) is not None:
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if tiny.backend() == "railweave":
        import railweave.fsdp

        railweave.fsdp.overlap(model)
    return model


strategy = ModelParallelStrategy(sharded, data_parallel_size=2, tensor_parallel_size=1,
                                 process_group_backend=tiny.backend())
fabric = Fabric(accelerator="cpu", devices=2, strategy=strategy)
fabric.launch()
model = fabric.setup(tiny.model())
optimizer = fabric.setup_optimizers(tiny.optimizer(model))
losses = []
for step in range(tiny.STEPS):
    inputs, targets = tiny.batch(step, fabric.global_rank)
    loss = tiny.loss_of(model(inputs), targets)
    fabric.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(fabric.all_reduce(loss.detach()))
tiny.hand_over(fabric.global_rank, losses, dist.get_backend())
