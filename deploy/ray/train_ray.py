#!/usr/bin/env python3
"""Runs deploy/train.py's training by Ray Train: python deploy/ray/train_ray.py --workers 2

Ray makes the process group itself, and takes the backend by name. The name must be known in Ray's workers before."""

import argparse
import sys
from pathlib import Path

import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def register_backend():
    """Runs at the start of every worker process."""
    import railweave  # noqa: F401


def train_loop(config):
    """Runs in every worker. The group exists already: Ray made it with the backend of TorchConfig."""
    import torch
    sys.path.insert(0, config["folder"])
    import train
    loss, model = train.train(config["steps"], 256, torch.device("cpu"))
    print(f"loss {loss:.4f}, parameters differ by {train.largest_difference(model):g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    ray.init(runtime_env={"worker_process_setup_hook": register_backend})
    folder = str(Path(__file__).resolve().parents[1])
    trainer = TorchTrainer(train_loop, train_loop_config={"steps": arguments.steps, "folder": folder},
                           torch_config=TorchConfig(backend="railweave"),
                           scaling_config=ScalingConfig(num_workers=arguments.workers, use_gpu=False))
    trainer.fit()


if __name__ == "__main__":
    main()
