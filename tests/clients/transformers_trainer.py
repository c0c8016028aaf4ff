"""Transformers' Trainer: a GPT-2 of two layers. TrainingArguments finds the group that exists."""

import tempfile

import tiny
import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

dist.init_process_group(tiny.backend())
torch.manual_seed(1)
tokens = torch.randint(0, 64, (4 * tiny.STEPS, 16))
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model=GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2)),
        args=TrainingArguments(output_dir=folder, use_cpu=True, per_device_train_batch_size=2, num_train_epochs=1,
                               logging_steps=1, save_strategy="no", report_to=[], seed=1, disable_tqdm=True),
        train_dataset=[{"input_ids": row, "labels": row} for row in tokens],
    )
    trainer.train()
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
tiny.hand_over(dist.get_rank(), losses, dist.get_backend())
dist.destroy_process_group()
