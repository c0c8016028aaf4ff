"""Megatron-core: its parallel state with two tensor-parallel ranks. The first layer is cut by columns and the second by
rows, by Megatron's mappings, which run without a GPU."""

import tiny
import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import mappings

dist.init_process_group(tiny.backend())
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
group = parallel_state.get_tensor_model_parallel_group()
own, size = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_tensor_model_parallel_world_size()
whole = tiny.model()
columns, rows = whole[0].weight.chunk(size, 0)[own], whole[2].weight.chunk(size, 1)[own]
weights = [torch.nn.Parameter(part.detach().clone()) for part in (columns, rows)]
optimizer, losses = torch.optim.SGD(weights, lr=0.05, momentum=0.9), []
for step in range(tiny.STEPS):
    inputs, targets = tiny.batch(step, 0)
    hidden = torch.tanh(mappings.copy_to_tensor_model_parallel_region(inputs, group) @ weights[0].T)
    loss = tiny.loss_of(mappings.reduce_from_tensor_model_parallel_region(hidden @ weights[1].T, group), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.detach())
tiny.hand_over(dist.get_rank(), losses, dist.get_backend(group))
parallel_state.destroy_model_parallel()
dist.destroy_process_group()
