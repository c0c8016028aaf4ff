"""Lightning's Trainer: DDP."""

import logging

import lightning
import tiny
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import DDPStrategy


class Module(lightning.LightningModule):
    """The small model. Keeps the mean loss of each step."""

    def __init__(self):
        super().__init__()
        self.model, self.losses = tiny.model(), []

    def training_step(self, batch, _index):
        inputs, targets = batch
        loss = tiny.loss_of(self.model(inputs), targets)
        self.losses.append(self.all_gather(loss.detach()).mean())
        return loss

    def configure_optimizers(self):
        return tiny.optimizer(self.model)

    def train_dataloader(self):
        rows = [tiny.batch(step, self.global_rank) for step in range(tiny.STEPS)]
        return torch.utils.data.DataLoader(rows, batch_size=None)


logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
module = Module()
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy=DDPStrategy(process_group_backend=tiny.backend()),
                            max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, use_distributed_sampler=False)
trainer.fit(module)
tiny.hand_over(trainer.global_rank, module.losses, dist.get_backend())
