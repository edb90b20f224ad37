"""Logs of torch.compile on sharded programs, as PyTorch prints them: what `explain` is to read.

    TORCH_LOGS=aot_graphs,aot_joint_graph python3 compile_logs.py mlp aot_eager 2>log

compile_logs.py PROGRAM BACKEND [RANKS]: one process, whose other ranks are PyTorch's fake process
group; the log is rank 0's. Programs: mlp (column then row parallel, forward and backward), sp (sequence
parallel), funcol (functional collectives called by hand), fsdp (weights gathered for their use), move (cut
along one dim, then along another), breaks (a graph break and a recompilation between two collectives).
The cases compile_mlp, _sequence, _calls, _stages, _joint, _breaks and _dynamo come from it (PyTorch 2.13).
"""
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.testing._internal.distributed.fake_pg import FakeStore


class Mlp(nn.Module):
    def __init__(self, width=12, hidden=20):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(self.norm(x))))


def mlp(mesh, backend):
    model = parallelize_module(Mlp(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    torch.compile(model, backend=backend)(torch.randn(6, 12, requires_grad=True)).sum().backward()


def sp(mesh, backend):
    plan = {
        "norm": SequenceParallel(sequence_dim=0),
        "up": ColwiseParallel(input_layouts=Shard(0)),
        "down": RowwiseParallel(output_layouts=Shard(0)),
    }
    model = parallelize_module(Mlp(), mesh, plan)
    torch.compile(model, backend=backend)(torch.randn(8, 12, requires_grad=True)).sum().backward()


def funcol_program(mesh, backend):
    group = (mesh, 0)

    def program(x, y):
        whole = funcol.all_reduce(x * 2, "sum", group)
        part = whole.chunk(mesh.size(), 0)[0]
        gathered = funcol.all_gather_tensor(y, 1, group)
        scattered = funcol.reduce_scatter_tensor(x, "sum", 0, group)
        swapped = funcol.all_to_all_single(x, None, None, group)
        two = funcol.all_reduce_coalesced([y, y + 1], "sum", group)
        return part, gathered, scattered, swapped, two[0] + two[1]

    torch.compile(program, backend=backend)(torch.randn(8, 6), torch.randn(4, 10))


def fsdp(mesh, backend):
    w1 = DTensor.from_local(torch.randn(4, 12), mesh, [Shard(0)], run_check=False)
    w2 = DTensor.from_local(torch.randn(12, 4), mesh, [Shard(1)], run_check=False)

    def program(x):
        a = w1.redistribute(mesh, [Replicate()]).to_local()
        b = w2.redistribute(mesh, [Replicate()]).to_local()
        return torch.relu(x @ a.t()) @ b.t()

    torch.compile(program, backend=backend)(torch.randn(3, 12))


def move(mesh, backend):
    def program(x):
        d = DTensor.from_local(x, mesh, [Shard(0)], run_check=False)
        d = d.redistribute(mesh, [Shard(1)]) * 2
        p = DTensor.from_local(d.to_local(), mesh, [Partial()], run_check=False)
        return p.redistribute(mesh, [Shard(1)]).to_local()

    torch.compile(program, backend=backend)(torch.randn(4, 12))


def breaks(mesh, backend):
    def program(x):
        y = funcol.all_reduce(x, "sum", (mesh, 0)) + 1
        print("between")
        return funcol.all_reduce(y, "sum", (mesh, 0))

    compiled = torch.compile(program, backend=backend)
    for rows in (4, 6):
        compiled(torch.randn(rows, 3))


def main():
    program, backend = sys.argv[1], sys.argv[2]
    ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    torch.manual_seed(1)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
    globals()[{"funcol": "funcol_program"}.get(program, program)](mesh, backend)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
