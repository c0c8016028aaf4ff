"""DeepSpeed: ZeRO of the stage in the second argument."""

import os
import sys

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import tiny  # noqa: E402
import torch.distributed as dist  # noqa: E402

deepspeed.init_distributed(dist_backend=tiny.backend())
model = tiny.model()
engine, *_ = deepspeed.initialize(model=model, optimizer=tiny.optimizer(model), config={
    "train_micro_batch_size_per_gpu": tiny.BATCH,
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "zero_optimization": {"stage": int(sys.argv[2])},
})
losses = []
for step in range(tiny.STEPS):
    inputs, targets = tiny.batch(step, dist.get_rank())
    loss = tiny.loss_of(engine(inputs), targets)
    engine.backward(loss)
    engine.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    losses.append(mean / dist.get_world_size())
tiny.hand_over(dist.get_rank(), losses, dist.get_backend())
dist.destroy_process_group()
