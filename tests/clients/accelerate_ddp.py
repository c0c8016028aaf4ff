"""Accelerate: DDP. On a CPU Accelerate makes groups of Gloo only, so the group comes first."""

import tiny
import torch.distributed as dist
from accelerate import Accelerator

dist.init_process_group(tiny.backend())
accelerator = Accelerator(cpu=True)
model = tiny.model()
model, optimizer = accelerator.prepare(model, tiny.optimizer(model))
losses = []
for step in range(tiny.STEPS):
    inputs, targets = tiny.batch(step, accelerator.process_index)
    loss = tiny.loss_of(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(accelerator.reduce(loss.detach(), "mean"))
tiny.hand_over(accelerator.process_index, losses, dist.get_backend())
accelerator.end_training()  # destroys the group
