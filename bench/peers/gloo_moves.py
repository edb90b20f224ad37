#!/usr/bin/env python3
"""The redistributions of `meshwise bench reshard` as PyTorch's DTensor makes them over gloo.

    pip install torch        (the CPU build)
    python3 bench/peers/gloo_moves.py

Two processes, f32 squares of the same sizes, one thread each; medians and least, in microseconds.
"""
import os, statistics, time
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIDES = (64, 512, 2048, 4096)


def measure(rank, ranks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29531")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    mesh = init_device_mesh("cpu", (ranks,))
    pairs = (("S(0)", "S(1)", Shard(0), Shard(1)), ("S(0)", "R", Shard(0), Replicate()),
             ("P", "R", Partial(), Replicate()), ("P", "S(0)", Partial(), Shard(0)))
    for name, to_name, source, target in pairs:
        for side in SIDES:
            rows = side // ranks if isinstance(source, Shard) else side
            x = DTensor.from_local(torch.ones(rows, side), mesh, [source], run_check=False)
            rounds, seconds = (201 if side < 1024 else 15), []
            for i in range(-3, rounds):
                dist.barrier()
                began = time.perf_counter()
                x.redistribute(mesh, [target]).to_local()
                mine = torch.tensor(time.perf_counter() - began, dtype=torch.float64)
                dist.all_reduce(mine, dist.ReduceOp.MAX)
                if i >= 0:
                    seconds.append(mine.item())
            if rank == 0:
                print(f"{name + ' -> ' + to_name:16} {ranks:5} {side * side * 4:9} "
                      f"{statistics.median(seconds) * 1e6:12.2f} {min(seconds) * 1e6:12.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    print(f"{'':16} {'ranks':>5} {'bytes':>9} {'median us':>12} {'least us':>12}", flush=True)
    mp.spawn(measure, args=(2,), nprocs=2)
