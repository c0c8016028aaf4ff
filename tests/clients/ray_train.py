"""Ray Train: TorchTrainer. Its workers make the group, with the backend of TorchConfig."""

import json
import os
import tempfile
from pathlib import Path

import ray
import ray.train
import ray.train.torch
import tiny


def train(config):
    import torch.distributed as dist

    model = ray.train.torch.prepare_model(tiny.model())
    optimizer, losses = tiny.optimizer(model), []
    for step in range(tiny.STEPS):
        inputs, targets = tiny.batch(step, dist.get_rank())
        loss = tiny.loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    if dist.get_rank() == 0:
        Path(config["answer"]).write_text(json.dumps([losses, dist.get_backend()]))


with tempfile.TemporaryDirectory() as folder:
    # Workers find this folder and the package by the path of this process.
    paths = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
             runtime_env={"env_vars": {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}})
    trainer = ray.train.torch.TorchTrainer(
        train, train_loop_config={"answer": f"{folder}/answer"},
        torch_config=ray.train.torch.TorchConfig(backend=tiny.backend()),
        scaling_config=ray.train.ScalingConfig(num_workers=2, use_gpu=False),
        run_config=ray.train.RunConfig(storage_path=folder))
    trainer.fit()
    ray.shutdown()
    tiny.hand_over(0, *json.loads(Path(folder, "answer").read_text()))
