#!/usr/bin/env python3
"""shardy_compare: propagation here against Shardy's own, over random small programs.

    python3 -m venv VENV && VENV/bin/pip install jax
    VENV/bin/python tests/oracle/shardy_compare.py build/meshwise [PROGRAMS] [SEED]

Each program is written twice, as StableHLO and as a program of this library, with the same annotations; Shardy's
pass runs on the one, `meshwise opt --passes propagate` on the other. Every value that comes to lie otherwise is
listed, and both outcomes are priced alike: all layouts are written down as annotations, the pass `reshard` adds the
movements, their bytes are summed over ranks. Exits 77 where jax is not installed, 1 where a program fails.
"""
import math
import random
import re
import subprocess
import sys

try:
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jaxlib.mlir import passmanager
except ImportError:
    print("shardy_compare: jax is not installed; skipped")
    sys.exit(77)

MESHES = [[("a", 2), ("b", 2)], [("a", 2), ("b", 4)], [("a", 4), ("b", 2), ("c", 2)], [("a", 4)]]
SIZES = [8, 16, 32]


class Value:
    def __init__(self, name, shape, hlo=None, own=None):
        self.name, self.shape, self.hlo, self.own = name, shape, hlo, own
        self.dims = None  # an annotation: per dim (axes, open)
        self.priority = None  # per dim


def joined(axes):
    """`a:(1)2` before `a:(2)2` is `a`: neither system has it otherwise."""
    out = []
    for axis in axes:
        if out and ":(1)" in out[-1] and axis.partition(":")[0] == out[-1].partition(":")[0]:
            out[-1] = axis.partition(":")[0]
        else:
            out.append(axis)
    return out


def annotate(rng, value, mesh, likely):
    """Axes to dims at random, each at most once; None: open and empty everywhere."""
    if rng.random() > likely or not value.shape:
        return
    axes = []
    for name, size in mesh:
        parts = [name + ":(1)2", name + ":(2)%d" % (size // 2)] if size > 2 and rng.random() < 0.15 else [name]
        axes += parts
    rng.shuffle(axes)
    value.dims = []
    for size in value.shape:
        mine = []
        while axes and rng.random() < 0.45:
            mine.append(axes.pop())
        value.dims.append((joined(mine), rng.random() < 0.5))
    if rng.random() < 0.25:  # a closed empty dim has none
        value.priority = [rng.randrange(3) if axes or is_open else 0 for axes, is_open in value.dims]


def hlo_type(shape):
    return "tensor<%sf32>" % "".join("%dx" % n for n in shape)


def make(rng, mesh):
    """Parameters and statements: (hlo, own) texts of each."""
    params, body, values = [], [], []

    def new(shape, hlo, own):
        v = Value("v%d" % len(values), shape, hlo, own)
        annotate(rng, v, mesh, 0.2)
        values.append(v)
        body.append(v)
        return v

    def same_shape(shape):
        fits = [v for v in values if v.shape == shape]
        if fits and rng.random() < 0.7:
            return rng.choice(fits)
        p = Value("v%d" % len(values), shape)
        annotate(rng, p, mesh, 0.7)
        values.append(p)
        params.append(p)
        return p

    same_shape([rng.choice(SIZES), rng.choice(SIZES)])
    for _ in range(rng.randint(2, 7)):
        x = rng.choice(values)
        t, kind = hlo_type(x.shape), rng.choice(["one", "two", "dot", "dot", "turn", "view", "sum", "wide"])
        if kind == "one":
            hlo, own = rng.choice([("negate", "neg"), ("tanh", "tanh"), ("exponential", "exp")])
            new(x.shape, "stablehlo.%s %%%s : %s" % (hlo, x.name, t), "%s(%%%s)" % (own, x.name))
        elif kind == "two":
            y = same_shape(x.shape)
            hlo, own = rng.choice([("add", "add"), ("multiply", "mul"), ("subtract", "sub")])
            new(x.shape, "stablehlo.%s %%%s, %%%s : %s" % (hlo, x.name, y.name, t), "%s(%%%s, %%%s)" % (own, x.name, y.name))
        elif kind == "dot" and len(x.shape) == 2:
            y = same_shape([x.shape[1], rng.choice(SIZES)])
            shape = [x.shape[0], y.shape[1]]
            new(shape, "stablehlo.dot %%%s, %%%s : (%s, %s) -> %s" % (x.name, y.name, t, hlo_type(y.shape), hlo_type(shape)),
                "mm(%%%s, %%%s)" % (x.name, y.name))
        elif kind == "turn" and len(x.shape) > 1:
            order = list(range(len(x.shape)))
            rng.shuffle(order)
            shape = [x.shape[d] for d in order]
            new(shape, "stablehlo.transpose %%%s, dims = %s : (%s) -> %s" % (x.name, order, t, hlo_type(shape)),
                "permute(%%%s, %s)" % (x.name, order))
        elif kind == "view" and len(x.shape) == 2:
            n, m = x.shape
            shape = rng.choice([s for s in ([n * m], [2, n // 2, m], [n, 4, m // 4], [n * 2, m // 2]) if math.prod(s) == n * m])
            new(shape, "stablehlo.reshape %%%s : (%s) -> %s" % (x.name, t, hlo_type(shape)), "reshape(%%%s, %s)" % (x.name, shape))
        elif kind == "view" and len(x.shape) == 3:
            shape = [x.shape[0] * x.shape[1], x.shape[2]]
            new(shape, "stablehlo.reshape %%%s : (%s) -> %s" % (x.name, t, hlo_type(shape)), "reshape(%%%s, %s)" % (x.name, shape))
        elif kind == "sum" and len(x.shape) > 1:
            d = rng.randrange(len(x.shape))
            shape = x.shape[:d] + x.shape[d + 1:]
            hlo = ("stablehlo.reduce(%%%s init: %%zero) applies stablehlo.add across dimensions = [%d] : "
                   "(%s, tensor<f32>) -> %s" % (x.name, d, t, hlo_type(shape)))
            new(shape, hlo, "sum(%%%s, [%d])" % (x.name, d))
        elif kind == "wide" and len(x.shape) < 3:
            n = rng.choice(SIZES)
            shape = [n] + x.shape
            dims = list(range(1, len(shape)))
            new(shape, "stablehlo.broadcast_in_dim %%%s, dims = %s : (%s) -> %s" % (x.name, dims, t, hlo_type(shape)),
                "expand(%%%s, %s)" % (x.name, shape))
    return params, body


def hlo_axis(axis):
    name, colon, part = axis.partition(":")
    return '"%s"%s%s' % (name, colon, part)


def sharding(value):
    """The dims of a Shardy annotation."""
    words = []
    for d, (axes, is_open) in enumerate(value.dims):
        priority = "p%d" % value.priority[d] if value.priority and (axes or is_open) else ""
        words.append("{%s}%s" % (", ".join([hlo_axis(a) for a in axes] + (["?"] if is_open else [])), priority))
    return "[%s]" % ", ".join(words)


def own_annotation(value):
    dims = value.dims or [([], True)] * len(value.shape)
    priority = " p(%s)" % ", ".join("%d" % p for p in value.priority) if value.priority else ""
    return own_type(value.shape, dims) + priority


def as_hlo(mesh, params, body, results):
    text = "sdy.mesh @mesh = <[%s]>\nfunc.func @main(" % ", ".join('"%s"=%d' % a for a in mesh)
    text += ", ".join("%%%s: %s%s" % (p.name, hlo_type(p.shape), " {sdy.sharding = #sdy.sharding<@mesh, %s>}" % sharding(p) if p.dims else "")
                      for p in params)
    text += ") -> (%s) {\n  %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n" % ", ".join(hlo_type(v.shape) for v in results)
    for v in body:
        head, sign, tail = v.hlo.rpartition(" : ")
        if v.dims:
            head += " {sdy.sharding = #sdy.sharding_per_value<[<@mesh, %s>]>}" % sharding(v)
        text += "  %%%s = %s%s%s\n" % (v.name, head, sign, tail)
    return text + "  return %s : %s\n}\n" % (", ".join("%" + v.name for v in results), ", ".join(hlo_type(v.shape) for v in results))


def own_type(shape, dims):
    words = []
    for size, (axes, is_open) in zip(shape, dims):
        words.append("%d%s%s%s" % (size, "@" if axes else "", ",".join(axes), "?" if is_open else ""))
    return "f32[%s]" % ", ".join(words)


def as_own(mesh, params, body, results, type_of):
    text = "mesh @m = [%s]\nfunc @main(" % ", ".join("%s=%d" % a for a in mesh)
    text += ", ".join("%%%s: %s" % (p.name, type_of(p)) for p in params) + ") {\n"
    for v in body:
        text += "  %%%s = %s : %s\n" % (v.name, v.own, type_of(v))
    return text + "  return %s\n}\n" % ", ".join("%" + v.name for v in results)


def run_shardy(text, params, body):
    """Per value its dims' axes, as words of this library's layouts."""
    found = {}

    def read(attribute, value):
        inner = re.search(r"@mesh, \[(.*)\]", str(attribute)).group(1)
        for words in re.findall(r"\{([^}]*)\}", inner)[:len(value.shape)]:
            axes = [w.strip().replace('"', "") for w in words.split(",")]
            found.setdefault(value.name, []).append(([a for a in axes if a and a != "?"], False))

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse("builtin.module(sdy-user-priority-propagate)").run(module.operation)
        func = [op for op in module.body.operations if op.operation.name == "func.func"][0].operation
        for i, p in enumerate(params):
            attrs = ir.DictAttr(ir.ArrayAttr(func.attributes["arg_attrs"])[i]) if "arg_attrs" in func.attributes else {}
            if "sdy.sharding" in attrs:
                read(attrs["sdy.sharding"], p)
        ops = [op.operation for op in func.regions[0].blocks[0].operations if "constant" not in op.operation.name]
        for v, op in zip(body, ops):
            if "sdy.sharding" in op.attributes:
                read(op.attributes["sdy.sharding"], v)
    return found


def opt(meshwise, text, passes):
    r = subprocess.run([meshwise, "opt", "--passes", passes, "-"], input=text, capture_output=True, text=True, check=False)
    if r.returncode:
        raise RuntimeError(r.stderr + text)
    return r.stdout


def types_of(text):
    """Name -> type without open marks, of a printed program."""
    return {name: kind.replace("?", "") for name, kind in
            re.findall(r"%(v\d+)(?: = .* : |: )(f32\[[^\]]*\](?:\{[^}]*\})?)", text)}


def bytes_of(meshwise, text):
    return sum(int(n) for n in re.findall(r"(\d+) B in all", opt(meshwise, text, "reshard")))


def main():
    meshwise = sys.argv[1] if len(sys.argv) > 1 else "build/meshwise"
    programs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    alike = ours_less = theirs_less = 0
    total = [0, 0]
    for i in range(programs):
        mesh = rng.choice(MESHES)
        params, body = make(rng, mesh)
        if not body:
            continue
        used = " ".join(v.own for v in body) + " "
        results = [v for v in body if not re.search(r"%" + v.name + r"\b", used)]
        theirs = run_shardy(as_hlo(mesh, params, body, results), params, body)
        start = as_own(mesh, params, body, results, own_annotation)
        ours = types_of(opt(meshwise, start, "propagate"))
        other = as_own(mesh, params, body, results, lambda v: own_type(v.shape, theirs.get(v.name, [([], False)] * len(v.shape))))
        want = types_of(opt(meshwise, other, "meshes"))
        differ = [v for v in params + body if ours[v.name] != want[v.name]]
        if not differ:
            alike += 1
            continue
        try:
            mine = as_own(mesh, params, body, results, lambda v: ours[v.name])
            cost = [bytes_of(meshwise, mine), bytes_of(meshwise, other)]
        except RuntimeError:
            cost = [0, 0]
        total[0] += cost[0]
        total[1] += cost[1]
        ours_less += cost[0] < cost[1]
        theirs_less += cost[1] < cost[0]
        print("program %d, mesh %s: %d B here, %d B Shardy" % (i, ",".join("%s=%d" % a for a in mesh), cost[0], cost[1]))
        for line in start.splitlines()[1:-1]:
            print("   " + line.strip())
        for v in differ:
            print("      %%%s  %-24s Shardy %s" % (v.name, ours[v.name], want[v.name]))
    print("%d programs: %d alike; of the others %d move fewer bytes here, %d with Shardy's layouts, %d as many; in all %d and %d B"
          % (programs, alike, ours_less, theirs_less, programs - alike - ours_less - theirs_less, total[0], total[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
