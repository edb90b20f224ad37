#!/usr/bin/env python3
"""Texts that PyTorch's DTensor writes, and what it counted: the judge of `meshwise explain`.

    dtensor_logs.py OUT [PROGRAM...]

Runs small programs on the CPU, in one process whose other ranks are PyTorch's fake process group (all collectives
return at once; texts, shapes and counts are those of a real run), and writes for each to the folder OUT

    PROGRAM.log     with the loggers of TORCH_LOGS=+dtensor on
    PROGRAM.tree    DebugMode().debug_string()
    PROGRAM.table   CommDebugMode's table
    PROGRAM.json    calls of each collective by CommDebugMode: {"all_reduce": 1, ...}

Needs PyTorch (2.11 or later; the cases of tests/cases were made with 2.13). With --check MESHWISE it explains the trees and
tables and compares their collectives with those counts: exit 1 where they differ."""
import collections
import io
import json
import logging
import pathlib
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel,
                                               parallelize_module)
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._debug_mode import DebugMode

RANKS = 4


def put(mesh, shape, *placements, dtype=torch.float32, grad=False):
    t = distribute_tensor(torch.ones(shape, dtype=dtype), mesh, list(placements))
    return t.requires_grad_() if grad else t


def matmul(mesh):
    """The second operand is cut along the summed dim: the op gathers it."""
    torch.mm(put(mesh, (8, 12), Shard(0)), put(mesh, (12, 6), Shard(0)))


def terms(mesh):
    """A sum of terms, read at last; a non-linear op in between reduces it first."""
    y = torch.mm(put(mesh, (6, 8), Shard(1)), put(mesh, (8, 4), Shard(0)))
    torch.relu(y + y).full_tensor()


def uneven(mesh):
    """Nine rows on four ranks: pieces of 3, 3, 3 and 0."""
    put(mesh, (9, 2), Shard(0)).full_tensor()


def moves(mesh):
    """Explicit requests of each kind."""
    x = put(mesh, (8, 4), Shard(0))
    x.redistribute(mesh, [Shard(1)]).redistribute(mesh, [Replicate()])
    DTensor.from_local(torch.ones(8, 4), mesh, [Partial()]).redistribute(mesh, [Shard(0)])


def norm(mesh):
    x = put(mesh, (4, 6, 8), Shard(1))
    nn.functional.layer_norm(x, (8,), put(mesh, (8,), Replicate()), put(mesh, (8,), Replicate()))


def view(mesh):
    """A dim that is not the first of those merged is cut."""
    put(mesh, (3, 8, 5), Shard(1)).view(24, 5)


def embedding(mesh):
    ids = torch.tensor([[1, 2, 3]])
    ids = distribute_tensor(ids, mesh, [Replicate()])
    nn.functional.embedding(ids, put(mesh, (16, 4), Shard(0))).redistribute(mesh, [Replicate()])


def backward(mesh):
    """Forward and backward of a product and a softmax."""
    w = put(mesh, (8, 8), Shard(1), grad=True)
    x = put(mesh, (4, 8), Replicate(), grad=True)
    torch.softmax(x @ w, -1).sum().backward()


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16, bias=False), nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def mlp(mesh):
    """Columns, then rows, and backward."""
    m = parallelize_module(Mlp(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    m(torch.ones(4, 8, requires_grad=True)).sum().backward()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(8), Mlp()

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def sequence(mesh):
    """A sequence-parallel block: the norm on pieces, gathered for the products, scattered after them."""
    plan = {"norm": SequenceParallel(), "mlp.up": ColwiseParallel(input_layouts=Shard(1)),
            "mlp.down": RowwiseParallel(output_layouts=Shard(1))}
    m = parallelize_module(Block(), mesh, plan)
    m(torch.ones(2, 4, 8, requires_grad=True)).sum().backward()


def grid(mesh):
    """Two axes: rows over one, columns over the other."""
    mesh = init_device_mesh("cpu", (2, RANKS // 2), mesh_dim_names=("dp", "tp"))
    y = torch.mm(put(mesh, (8, 6), Shard(0), Replicate()), put(mesh, (6, 4), Replicate(), Shard(1)))
    put(mesh, (8, 4), Shard(0), Shard(0)).redistribute(mesh, [Replicate(), Replicate()])
    y.sum().full_tensor()


PROGRAMS = [matmul, terms, uneven, moves, norm, view, embedding, backward, mlp, sequence, grid]


def attempt(program, mesh):
    try:
        program(mesh)
    except Exception as error:  # an error's text is a text to explain, too
        return f"{type(error).__name__}: {error}\n"
    return ""


def log_of(program, mesh):
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter(
        "[rank0]:V1130 08:57:22.683000 5575 torch/distributed/tensor/%(filename)s:%(lineno)d] %(message)s"))
    names = ["torch.distributed.tensor._dispatch", "torch.distributed.tensor._sharding_prop",
             "torch.distributed.tensor._redistribute"]
    for name in names:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    error = attempt(program, mesh)
    for name in names:
        logging.getLogger(name).removeHandler(handler)
        logging.getLogger(name).setLevel(logging.WARNING)
    return out.getvalue() + error


def counts_of(mode):
    counts = collections.Counter()
    for op, n in mode.get_comm_counts().items():
        counts[str(op).split(".")[-1]] += n
    return dict(counts)


def write(out, program, mesh):
    name = program.__name__
    (out / f"{name}.log").write_text(log_of(program, mesh))
    with DebugMode(record_torchfunction=False, record_output=True) as tree:
        error = attempt(program, mesh)
    (out / f"{name}.tree").write_text(tree.debug_string() + "\n" + error)
    with CommDebugMode() as mode:
        attempt(program, mesh)
    (out / f"{name}.table").write_text(mode.generate_comm_debug_tracing_table(noise_level=0))
    (out / f"{name}.json").write_text(json.dumps(counts_of(mode)) + "\n")


# What meshwise calls PyTorch's collectives.
SAME = {"all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter",
        "shard_dim_alltoall": "all_to_all", "all_to_all_single": "all_to_all", "scatter_": "scatter",
        "broadcast_": "broadcast"}


def explained(meshwise, path):
    text = subprocess.run([meshwise, "explain", path, "--json"], check=True, capture_output=True).stdout
    counts = collections.Counter()
    for entry in json.loads(text)["entries"]:
        if entry.get("collective"):
            counts[entry["collective"]] += entry["count"]
    return dict(counts)


def check(meshwise, out, name):
    wanted = collections.Counter()
    for op, n in json.loads((out / f"{name}.json").read_text()).items():
        wanted[SAME.get(op, op)] += n
    bad = 0
    for kind in ("tree", "table"):
        got = explained(meshwise, out / f"{name}.{kind}")
        same = got == dict(wanted)
        bad += not same
        print(f"{name}.{kind}: {'right' if same else 'WRONG'}: {got}" + ("" if same else f", counted {dict(wanted)}"))
    return bad


def main(args):
    meshwise = None
    if "--check" in args:
        at = args.index("--check")
        meshwise = args[at + 1]
        del args[at:at + 2]
    out = pathlib.Path(args[0])
    out.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
    bad = 0
    for program in PROGRAMS:
        if args[1:] and program.__name__ not in args[1:]:
            continue
        write(out, program, mesh)
        bad += check(meshwise, out, program.__name__) if meshwise else 0
    dist.destroy_process_group()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
