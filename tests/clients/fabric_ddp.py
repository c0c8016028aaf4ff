"""Lightning Fabric: DDP."""

import tiny
import torch.distributed as dist
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy

fabric = Fabric(accelerator="cpu", devices=2, strategy=DDPStrategy(process_group_backend=tiny.backend()))
fabric.launch()
model = tiny.model()
model, optimizer = fabric.setup(model, tiny.optimizer(model))
losses = []
for step in range(tiny.STEPS):
    inputs, targets = tiny.batch(step, fabric.global_rank)
    loss = tiny.loss_of(model(inputs), targets)
    fabric.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(fabric.all_reduce(loss.detach()))
tiny.hand_over(fabric.global_rank, losses, dist.get_backend())
