#!/usr/bin/env python3
"""A small training for trying a cluster: every starter of deploy/ runs it. Rank 0 prints the loss, and how far apart
the parameters of the ranks are. With GPUs the gradients go by NCCL and Railweave's plugin, else by Railweave's backend.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import railweave


def take_rank_from_open_mpi():
    """mpirun names ranks by variables of its own. MASTER_ADDR and MASTER_PORT are the starter's task."""
    for name, theirs in (("RANK", "OMPI_COMM_WORLD_RANK"), ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"),
                         ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")):
        if theirs in os.environ:
            os.environ.setdefault(name, os.environ[theirs])


def start():
    """Joins the group of all ranks and returns this rank's device."""
    if not torch.cuda.is_available():
        dist.init_process_group("railweave")
        return torch.device("cpu")
    railweave.enable_nccl_plugin()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    dist.init_process_group("cpu:railweave,cuda:nccl")
    return device


def train(steps, width, device):
    """Learns to negate random vectors. Returns the last loss and the model."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, width))
    model = DistributedDataParallel(layers.to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(dist.get_rank() + 1)  # each rank has other data
    loss = torch.zeros(())
    for _ in range(steps):
        data = torch.randn(32, width, device=device)
        loss = (model(data) + data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), model


def largest_difference(model):
    """Returns how far the parameters of this rank are from rank 0's, over all ranks."""
    own = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    theirs = own.clone()
    dist.broadcast(theirs, 0)
    difference = (own - theirs).abs().max()
    dist.all_reduce(difference, dist.ReduceOp.MAX)
    return difference.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--width", type=int, default=256)
    arguments = parser.parse_args()
    take_rank_from_open_mpi()
    device = start()
    loss, model = train(arguments.steps, arguments.width, device)
    difference = largest_difference(model)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks on {device.type}, {arguments.steps} steps, loss {loss:.4f}, "
              f"parameters differ by {difference:g}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
