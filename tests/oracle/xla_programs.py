"""Sharded programs as JAX and XLA print them at each stage, and what is true of them.

    pip install jax && python tests/oracle/xla_programs.py FOLDER [MESHWISE]

Writes FOLDER/NAME.{before.txt,hlo.txt,gspmd-hlo.txt,sdy.mlir,sdy-explicit.mlir,stderr.txt} for each program below. With the
program meshwise, compares what `explain --json` says of the compiled text with a count made here by other means:
collectives are read with regular expressions, replica groups are evaluated with numpy, runs come from a walk of the
calls. Nothing here is run by the tests: tests/cases/hlo_*.case hold what it wrote, cut down to what a case needs."""
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")

import functools
import json
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def mesh_of(**axes):
    n = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices()[:n]).reshape(*axes.values()), tuple(axes))


# ---- programs: name -> (mesh, function, [(shape, dtype, spec)], result spec or None) ------------------------------

PROGRAMS = {}


def program(mesh, args, out=None, **kw):
    def keep(f):
        PROGRAMS[f.__name__] = (mesh, f, args, out, kw)
        return f
    return keep


F, I = np.float32, np.int32


@program(mesh_of(fsdp=8), [((24, 40), F, P("fsdp")), ((40, 48), F, P("fsdp"))], P("fsdp"))
def fsdp_gather(x, w):
    return jnp.tanh(x @ w)


@program(mesh_of(d=2, m=4), [((16, 24), F, P("d", None)), ((24, 32), F, P("d", "m")), ((32, 24), F, P("m", "d"))],
         P("d", None))
def two_d_tp(x, a, b):
    return jax.nn.relu(x @ a) @ b


@program(mesh_of(e=4), [((4, 8, 16), F, P("e")), ((4, 16, 12), F, P("e"))], P("e"))
def moe_all_to_all(x, w):
    y = lax.with_sharding_constraint(jnp.swapaxes(x.reshape(4, 4, 2, 16), 0, 1), NamedSharding(mesh_of(e=4), P("e")))
    return jnp.einsum("egtd,edf->egtf", y, w)


@program(mesh_of(x=4), [((8, 64), F, P(None, "x")), ((64, 20), F, P("x", None))], P("x", None))
def reduce_scatter_wish(x, w):
    return x @ w


@program(mesh_of(x=4), [((8, 16), F, P("x"))], P("x"))
def cumsum_on_shards(x):
    return jnp.cumsum(x, axis=0)


@program(mesh_of(x=8), [((64, 6), F, P("x"))])
def sort_on_shards(x):
    return jnp.sort(x, axis=0)


@program(mesh_of(x=8), [((5, 64), F, P(None, "x"))])
def argmax_on_shards(x):
    return jnp.argmax(x, axis=1)


@program(mesh_of(x=4), [((10, 12), F, P()), ((12, 6), F, P())], None)
def uneven_inside(x, w):
    x = lax.with_sharding_constraint(x, NamedSharding(mesh_of(x=4), P("x")))
    return (x @ w).sum(0)


@program(mesh_of(x=2, y=4), [((16, 24), F, P("x", "y"))], P("y", "x"))
def transpose_swap(x):
    return x * 3


@program(mesh_of(x=2, y=2, z=2), [((8, 8, 8), F, P("x", "y", "z"))], P("z", "x", "y"))
def rotate_three(x):
    return jnp.exp(x)


@program(mesh_of(x=4), [((12, 32), F, P(None, "x")), ((32, 32), F, P(None, "x"))], P(None, "x"))
def scan_matmul(c, w):
    def body(c, _):
        return jnp.tanh(c @ w), c.sum()
    return lax.scan(body, c, None, length=7)[0]


@program(mesh_of(x=4), [((12, 32), F, P(None, "x")), ((32, 32), F, P(None, "x"))], P(None, "x"))
def nested_loops(c, w):
    def inner(i, c):
        return jnp.tanh(c @ w)
    def outer(i, c):
        return lax.fori_loop(0, 3, inner, c) * lax.psum(1.0, ()) + 1
    return lax.fori_loop(0, 5, outer, c)


@program(mesh_of(x=2, y=4), [((8, 16), F, P("x", "y"))], P("x", "y"))
def scalar_reductions(x):
    return x / x.max() - x.mean()


@program(mesh_of(x=4), [((64, 12), F, P("x")), ((10,), I, P())])
def gather_rows(t, i):
    return t.at[i].get(mode="fill", fill_value=0)


@program(mesh_of(x=4), [((64, 12), F, P("x")), ((10,), I, P()), ((10, 12), F, P())], P("x"))
def scatter_rows(t, i, u):
    return t.at[i].add(u)


@program(mesh_of(x=4), [((32, 12), F, P("x"))])
def dynamic_slice_rows(x):
    return lax.dynamic_slice(x, (jnp.argmax(x[:, 0]), 0), (8, 12))


@program(mesh_of(x=4), [((1, 3, 48, 8), F, P(None, None, "x")), ((2, 3, 5, 3), F, P())], P(None, None, "x"))
def conv_halo(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), "SAME")


@program(mesh_of(p=8), [((8, 6, 10), F, P("p")), ((8, 10, 10), F, P("p"))], P("p"))
def pipeline_permute(x, w):
    def stage(x, w):
        def step(i, c):
            c = jnp.tanh(c[0] @ w[0])[None]
            return lax.ppermute(c, "p", [(j, (j + 1) % 8) for j in range(8)])
        return lax.fori_loop(0, 8, step, x)
    return jax.shard_map(stage, mesh=mesh_of(p=8), in_specs=(P("p"), P("p")), out_specs=P("p"))(x, w)


@program(mesh_of(x=2, y=4), [((16, 12), F, P("x", "y"))])
def shard_map_mix(a):
    def f(a):
        b = lax.psum(a, ("x", "y"))
        c = lax.pmean(a, "x")
        d = lax.all_to_all(a, "y", 0, 0, tiled=True)
        return b.sum() + c, d, lax.pmax(a, "y")
    return jax.shard_map(f, mesh=mesh_of(x=2, y=4), in_specs=P("x", "y"),
                         out_specs=(P("x", "y"), P("x", "y"), P("x", None)), check_vma=False)(a)


@program(mesh_of(x=4), [((32, 16), F, P("x")), ((16, 16), F, P())], P("x"), donate_argnums=(0,))
def donated(x, w):
    return x @ w + x


@program(mesh_of(dp=2, tp=4), [((8, 16), F, P("dp")), ((16, 32), F, P(None, "tp")), ((32, 16), F, P("tp"))])
def gradients(x, a, b):
    return jax.grad(lambda a, b: (jax.nn.gelu(x @ a) @ b).sum(), argnums=(0, 1))(a, b)


@program(mesh_of(x=8), [((16, 24), F, P("x"))])
def cond_inside(x):
    return lax.cond(x[0, 0] > 0, lambda x: x.sum(0), lambda x: x.max(0), x)


# ---- texts --------------------------------------------------------------------------------------------------------

def texts(name):
    mesh, f, args, out, kw = PROGRAMS[name]
    shapes = [jax.ShapeDtypeStruct(s, d, sharding=NamedSharding(mesh, p)) for s, d, p in args]
    jitted = jax.jit(f, out_shardings=None if out is None else NamedSharding(mesh, out), **kw)
    result = {}
    for shardy in (False, True):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        jax.clear_caches()
        lowered = jitted.lower(*shapes)
        result["sdy.mlir" if shardy else "gspmd.mlir"] = lowered.as_text()
        if not shardy:
            result["before.txt"] = lowered.as_text("hlo")
        result["hlo.txt" if shardy else "gspmd-hlo.txt"] = lowered.compile().as_text()
    result["sdy-explicit.mlir"], result["sdy-edges.mlir"] = explicit(result["sdy.mlir"])
    return result


def explicit(text):
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir, passmanager
    texts = []
    for pipeline in ("sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-version=true},"
                     "sdy-reshard-to-collectives)",
                     "sdy-import-pipeline,sdy-user-priority-propagate{debug-sharding-origins=true "
                     "debug-propagation-edge-sharding=true}"):
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            try:
                passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
                texts.append(str(module))
            except Exception as error:
                texts.append(f"// {error}\n")
    return texts


# ---- an own count -------------------------------------------------------------------------------------------------

KINDS = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
BITS = {"pred": 8, "s8": 8, "u8": 8, "s32": 32, "u32": 32, "f32": 32, "f64": 64, "bf16": 16, "f16": 16, "s64": 64, "u64": 64}


def groups(text):
    m = re.match(r"\{\{([\d,{} ]*)\}\}", text)
    if m:
        return [[int(x) for x in g.split(",")] for g in m[1].split("},{")]
    m = re.match(r"\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    if m:
        dims = [int(x) for x in m[3].split(",")]
        a = np.arange(np.prod(dims)).reshape(dims)
        if m[4]:
            a = a.transpose([int(x) for x in m[4].split(",")])
        return a.reshape(int(m[1]), int(m[2])).tolist()
    m = re.match(r"mesh\[([^\]]*)\](?:, device_ids=\((?:\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))\))? \{([^}]*)\}", text)
    axes = re.findall(r"'(\w+)'=(\d+)", m[1])
    names, sizes = [a for a, _ in axes], [int(s) for _, s in axes]
    if m[2]:
        dims = [int(x) for x in m[2].split(",")]
        ids = np.arange(np.prod(dims)).reshape(dims)
        ids = ids.transpose([int(x) for x in m[3].split(",")]) if m[3] else ids
    elif m[4]:
        ids = np.array([int(x) for x in m[4].split(",")])
    else:
        ids = np.arange(np.prod(sizes))
    parts = [(name, 1, size) for name, size in zip(names, sizes)]
    wanted = []
    for name, pre, size in re.findall(r"'(\w+)'(?::\((\d+)\)(\d+))?", m[5]):
        wanted.append((name, int(pre or 1), int(size or sizes[names.index(name)])))
    shape = []
    for name, size in zip(names, sizes):
        cuts = sorted({1, size} | {c for n, p, s in wanted if n == name for c in (p, p * s)})
        shape += [(name, a, b // a) for a, b in zip(cuts, cuts[1:])] or [(name, 1, 1)]
    a = ids.reshape([s for _, _, s in shape])
    talk = [shape.index(w) for w in wanted]
    rest = [i for i in range(len(shape)) if i not in talk]
    return a.transpose(rest + talk).reshape(-1, int(np.prod([shape[i][2] for i in talk]))).tolist()


def shape_bytes(text):
    return sum(int(np.prod([int(x) for x in d.split(",") if x] or [1])) * BITS[t] // 8
               for t, d in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", text))


def count(hlo):
    """[(kind, name, received by the largest rank in all runs, runs)]"""
    bodies, current, edges = {}, None, {}
    for line in hlo.splitlines():
        m = re.match(r"(?:ENTRY )?%?([\w.-]+) \(.*\{$", line)
        if m:
            current = m[1]
            bodies[current] = []
            entry = current if line.startswith("ENTRY") else None
        elif current and " = " in line:
            bodies[current].append(line)
    for name, lines in bodies.items():
        for line in lines:
            trip = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
            for key, callee in re.findall(r"(body|calls|to_apply|true_computation|false_computation)=%?([\w.-]+)", line):
                if key == "to_apply" and " call(" not in line:
                    continue
                edges.setdefault(callee, []).append((name, int(trip[1]) if trip and key == "body" else 1))
            for branches in re.findall(r"branch_computations=\{([^}]*)\}", line):
                for callee in branches.replace("%", "").split(", "):
                    edges.setdefault(callee, []).append((name, 1))

    @functools.cache
    def runs(name):
        return sum(runs(c) * n for c, n in edges[name]) if name in edges else 1

    found = []
    for name, lines in bodies.items():
        for line in lines:
            m = re.match(rf"\s*(?:ROOT )?%?([\w.-]+) = (.*?) ({KINDS})\(", line)
            if not m:
                continue
            size = shape_bytes(re.sub(r"\{[^}]*\}", "", m[2]))
            if m[3] == "collective-permute":
                pairs = eval(re.search(r"source_target_pairs=(\{\{.*?\}\})", line)[1].replace("{", "(").replace("}", ",)"))
                got = size if any(a != b for a, b in pairs) else 0
            else:
                g = len(groups(re.search(r"replica_groups=(.*)", line)[1])[0])
                got = {"all-gather": size * (g - 1) // g, "all-reduce": 2 * size * (g - 1) // g,
                       "reduce-scatter": size * (g - 1), "all-to-all": size * (g - 1) // g}[m[3]]
            found.append((m[3].replace("collective-", "").replace("-", "_"), m[1], got * runs(name), runs(name)))
    return found


def compare(folder, name, text, meshwise):
    told = json.loads(subprocess.run([meshwise, "explain", "--json", str(folder / f"{name}.{text}")],
                                     capture_output=True, check=True).stdout)
    seen = sorted((e["collective"], e["says"].split(":")[0], e["bytes"], e["runs"]) for e in told["entries"]
                  if e["event"] == "collective")
    want = sorted(count((folder / f"{name}.{text}").read_text()))
    print(("ok   " if seen == want else "WRONG"), name, text, sum(w[2] for w in want), want if seen == want else "")
    if seen != want:
        print("   told", [s for s in seen if s not in want], "\n   true", [w for w in want if w not in seen])
    return seen == want


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    for name in PROGRAMS:
        try:
            made = texts(name)
        except Exception as error:
            print("none ", name, str(error)[:300])
            continue
        for kind, text in made.items():
            (folder / f"{name}.{kind}").write_text(text)
        for text in ("hlo.txt", "gspmd-hlo.txt") if len(sys.argv) > 2 else ():
            good &= compare(folder, name, text, sys.argv[2])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
