#!/usr/bin/env python3
"""Writes tests/data/notations.def: what JAX and PyTorch themselves print and who holds what by their own code.

    python3 tests/oracle/notations.py > tests/data/notations.def      (needs jax, numpy, torch; no accelerator)

The tests read the file that is committed, never this script.
"""
import itertools, os, random

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=12"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
import torch
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def ranges(positions):
    """0-2,5: positions in rising order, as ranges with both ends."""
    out = []
    for p in positions:
        if out and out[-1][1] == p - 1:
            out[-1][1] = p
        else:
            out.append([p, p])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in out)


def mesh_text(mesh):
    return ",".join(f"{name}={size}" for name, size in mesh.items())


def row(kind, *texts):
    print(f"{kind}(" + ", ".join(quote(t) for t in texts) + ")")


# ---- JAX: NamedSharding to HLO, to Shardy, and to the indices of each device ------------------------
def jax_row(mesh, spec, shape):
    count = int(np.prod(list(mesh.values())))
    devices = np.array(jax.devices()[:count]).reshape(tuple(mesh.values()))
    named = NamedSharding(Mesh(devices, tuple(mesh), axis_types=(AxisType.Explicit,) * len(mesh)), spec)
    hlo = str(named._to_xla_hlo_sharding(len(shape)))
    sdy = str(named._to_sdy_sharding(len(shape)))[len("SdyArray("):-1].replace("'", '"')
    owners = ""
    if not spec.unreduced:  # JAX tells the indices of whole values only
        index = named.devices_indices_map(shape)
        owners = ";".join("x".join(ranges(range(*s.indices(n))) for s, n in zip(index[d], shape))
                          for d in devices.flat)
    row("GOLDEN_JAX", mesh_text(mesh), ",".join(map(str, shape)), str(spec), hlo, sdy, owners)


def jax_rows():
    rng = random.Random(5)
    jax_row({"x": 2, "y": 4}, P(), (8, 8))
    jax_row({"x": 2, "y": 4}, P(unreduced={"x", "y"}), (8,))
    for mesh in ({"x": 4}, {"x": 2, "y": 4}, {"x": 2, "y": 3}, {"a": 2, "b": 3, "c": 2}, {"x": 2, "one": 1, "y": 2}):
        for _ in range(14):
            axes = list(mesh)
            rng.shuffle(axes)
            entries, shape = [], []
            for _ in range(rng.randint(1, 3)):
                use = [axes.pop() for _ in range(min(len(axes), rng.choice([0, 1, 1, 2])))]
                entries.append(None if not use else use[0] if len(use) == 1 else tuple(use))
                shape.append(int(np.prod([mesh[a] for a in use])) * rng.choice([1, 2, 3]))
            unreduced = {axes.pop()} if axes and rng.random() < 0.3 else set()
            jax_row(mesh, P(*entries, unreduced=unreduced), tuple(shape))


# ---- PyTorch: how placements print, and how they split ----------------------------------------------
def torch_row(mesh, placements, shape):
    """Each placement splits what the rank has by then, in mesh order."""
    sizes = list(mesh.values())
    owners = []
    for coord in itertools.product(*map(range, sizes)):
        held = [torch.arange(n) for n in shape]
        for at, size, placement in zip(coord, sizes, placements):
            if not isinstance(placement, (Shard, _StridedShard)):
                continue
            alone = type(placement)(0, split_factor=placement.split_factor) if isinstance(placement, _StridedShard) else Shard(0)
            pieces, _ = alone._split_tensor(held[placement.dim], size, with_padding=False, contiguous=True)
            held[placement.dim] = pieces[at] if at < len(pieces) else held[placement.dim][:0]
        owners.append("x".join(ranges(h.tolist()) for h in held))
    row("GOLDEN_TORCH", mesh_text(mesh), ",".join(map(str, shape)), "".join(map(str, placements)), repr(tuple(placements)), ";".join(owners))


def torch_rows():
    rng = random.Random(7)
    for mesh in ({"x": 2}, {"x": 4}, {"x": 2, "y": 2}, {"x": 2, "y": 3}, {"x": 2, "y": 2, "z": 2}):
        for _ in range(22):
            shape = tuple(rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16]) for _ in range(rng.randint(1, 2)))
            kind = rng.choice(["sum", "avg", "max", "min"])
            placements = []
            for _ in mesh:
                dim = rng.randrange(len(shape))
                placements.append(rng.choice([Shard(dim), Shard(dim), Replicate(), Partial(kind), _StridedShard(dim, split_factor=rng.choice([2, 3, 4]))]))
            torch_row(mesh, placements, shape)


print(f"""/* What other systems print, and who holds what by their own code. Written by
 * tests/oracle/notations.py with jax {jax.__version__} and torch {torch.__version__}.
 *
 * GOLDEN_JAX(mesh, shape, partition spec, HLO, Shardy, owners)
 * GOLDEN_TORCH(mesh, shape, placements' str, tuple's repr, owners)
 * Owners: a rank after each `;`, its dims with `x` between them, each the ranges that it holds. */
/* clang-format off */""")
jax_rows()
torch_rows()
