"""Texts as JAX prints them: reprs, types, errors of explicit mode, pictures; for cases to explain.

    pip install jax rich && python tests/oracle/jax_texts.py

Eight CPU devices are simulated. Nothing here is run by the tests: tests/cases/jax_*.case hold what it printed, cut
down to what a case needs."""
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding


def attempt(title, f):
    """Runs f and prints what it prints, returns or raises."""
    print(f"=== {title}")
    try:
        result = f()
        if result is not None:
            print(result)
    except Exception as error:
        print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def on(mesh, shape, spec, dtype=np.float32):
    return jax.device_put(np.ones(shape, dtype), NamedSharding(mesh, spec))


def reprs(auto, explicit):
    x = on(auto, (12, 6), P("r", None))
    print("=== reprs")
    for thing in (auto, explicit, explicit.abstract_mesh, NamedSharding(auto, P("r", None)),
                  NamedSharding(explicit, P(("r", "c"), None)), NamedSharding(auto, P(P.UNCONSTRAINED, "c")),
                  SingleDeviceSharding(jax.devices()[3]), P("r", unreduced={"c"}), P("r", reduced={"c"}), P(),
                  x.sharding, jax.typeof(x), jax.typeof(on(explicit, (12, 8), P("r", "c"))),
                  jax.typeof(on(explicit, (16, 6), P(("r", "c"), None))), jax.jit(lambda a: a @ a.T)(x).sharding,
                  x.devices(), [s.index for s in x.addressable_shards], x.addressable_shards[0]):
        print(repr(thing), "|", thing)
    print(NamedSharding(auto, P("r", None))._to_xla_hlo_sharding(2))


def explicit_errors(mesh):
    def rows(shape, spec, dtype=np.float32):
        return on(mesh, shape, spec, dtype)

    a, b = rows((8, 12), P("r", "c")), rows((12, 8), P("c", None))
    attempt("dot contracting", lambda: jnp.dot(a, b))
    attempt("dot contracting in jit", lambda: jax.jit(jnp.dot)(a, b))
    attempt("dot conflict", lambda: jnp.dot(rows((8, 12), P("r", None)), rows((12, 8), P(None, "r"))))
    attempt("dot contracting differ", lambda: jnp.dot(rows((8, 12), P(None, "r")), rows((12, 8), P("c", None))))
    attempt("batch", lambda: jnp.einsum("bik,bkj->bij", rows((8, 4, 6), P("r")), rows((8, 6, 4), P("c"))))
    attempt("add", lambda: rows((8, 12), P("r")) + rows((8, 12), P("c")))
    attempt("add swapped", lambda: rows((8, 8), P("r", None)) + rows((8, 8), P(None, "r")))
    attempt("mul broadcast", lambda: rows((8, 8), P("r", None)) * rows((8,), P("r")))
    attempt("reshape", lambda: jnp.reshape(rows((8, 12), P(None, "c")), (96,)))
    attempt("reshape jit", lambda: jax.jit(lambda t: jnp.reshape(t, (4, 24)))(rows((8, 12), P(None, "c"))))
    attempt("sort", lambda: lax.sort(rows((8, 12), P("r", "c")), dimension=1))
    attempt("gather", lambda: rows((8, 12), P("r", None))[jnp.array([0, 3])])
    attempt("take", lambda: jnp.take(rows((8, 12), P("r", None)), rows((8,), P("r"), np.int32), axis=0))
    attempt("scatter", lambda: rows((8, 12), P("r", None)).at[jnp.array([0, 3])].add(1.0))
    attempt("scatter set", lambda: rows((8, 12), P("r", None)).at[rows((4,), P("r"), np.int32)].set(1.0))
    attempt("concatenate", lambda: jnp.concatenate([rows((8, 12), P("r")), rows((8, 12), P("c"))], 0))
    attempt("select", lambda: jnp.where(rows((8, 12), P("r"), bool), rows((8, 12), P("c")), rows((8, 12), P("c"))))
    u = jax.jit(lambda p, q: jnp.dot(p, q, out_sharding=P("r", None, unreduced={"c"})))
    attempt("unreduced type", lambda: jax.typeof(u(a, b)))
    attempt("add unreduced", lambda: jax.jit(lambda p, q, t: u(p, q) + t)(a, b, rows((8, 8), P("r"))))
    attempt("mul unreduced", lambda: jax.jit(lambda p, q: u(p, q) * u(p, q))(a, b))
    attempt("sin unreduced", lambda: jax.jit(lambda p, q: jnp.sin(u(p, q)))(a, b))
    attempt("sort none", lambda: lax.top_k(rows((8, 12), P("r", "c")), 2))
    attempt("cumsum", lambda: jnp.cumsum(rows((8, 12), P("r", "c")), 1))
    attempt("dynamic_slice", lambda: lax.dynamic_slice(rows((8, 12), P("r", "c")), (0, 1), (8, 3)))
    attempt("slice", lambda: rows((8, 12), P("r", "c"))[:, :5])
    attempt("constraint", lambda: jax.jit(lambda t: lax.with_sharding_constraint(t, P("c")))(rows((8, 12), P("r"))))
    attempt("cholesky", lambda: jnp.linalg.cholesky(rows((8, 8), P("r", "c"))))
    attempt("repeat", lambda: jnp.repeat(rows((8, 12), P("r")), 2, axis=0))
    attempt("while", lambda: lax.scan(lambda c, t: (t, c), rows((12,), P("c")), rows((8, 12), P(None, "r"))))


def spec_errors(mesh):
    attempt("rank", lambda: on(mesh, (8,), P("r", None)))
    attempt("rank scalar", lambda: on(mesh, (), P("r")))
    attempt("rank jit", lambda: jax.jit(lambda t: t, in_shardings=NamedSharding(mesh, P("r", "c")))(np.ones(8)))
    attempt("rank constraint",
            lambda: jax.jit(lambda t: lax.with_sharding_constraint(t, NamedSharding(mesh, P("r", "c"))))(np.ones(8)))
    attempt("divisible", lambda: on(mesh, (9, 4), P("c", None)))
    attempt("divisible jit", lambda: jax.jit(lambda t: t, in_shardings=NamedSharding(mesh, P(("r", "c"))))(np.ones((9, 4))))
    attempt("divisible out", lambda: jax.jit(lambda t: t, out_shardings=NamedSharding(mesh, P("r")))(np.ones((9, 4))))
    attempt("divisible tree", lambda: jax.jit(lambda t: t["w"], in_shardings=({"w": NamedSharding(mesh, P("r"))},))(
        {"w": np.ones((9, 4))}))
    attempt("duplicate", lambda: NamedSharding(mesh, P("r", "r")))
    attempt("duplicate tuple", lambda: NamedSharding(mesh, P("r", ("c", "r"))))
    attempt("unknown axis", lambda: NamedSharding(mesh, P("rows", None)))
    attempt("unknown constraint", lambda: jax.jit(lambda t: lax.with_sharding_constraint(t, P("rows")))(np.ones(8)))
    attempt("no mesh", lambda: jax.jit(lambda t: lax.with_sharding_constraint(t, P("r")))(np.ones(8)))
    attempt("devices", lambda: jax.make_mesh((3, 4), ("r", "c")))
    attempt("mixed devices", lambda: jax.jit(lambda a, b: a + b)(
        jax.device_put(np.ones(4), jax.devices()[0]), jax.device_put(np.ones(4), jax.devices()[1])))
    attempt("constraint explicit", lambda: NamedSharding(mesh, P(P.UNCONSTRAINED)).shard_shape((8,)))
    sm = jax.shard_map
    attempt("shard_map divisible", lambda: sm(lambda t: t, mesh=mesh, in_specs=P("c"), out_specs=P("c"))(np.ones((9, 2))))
    attempt("shard_map rank", lambda: sm(lambda t: t, mesh=mesh, in_specs=P("c", None), out_specs=P("c"))(np.ones(8)))
    attempt("shard_map replication",
            lambda: sm(lambda t: t.sum(), mesh=mesh, in_specs=P("c"), out_specs=P())(np.ones((8, 2))))


def pictures(mesh):
    for shape, spec in (((8, 8), P("r", "c")), ((8, 6), P("c", None)), ((8,), P(("c", "r"))), ((8, 6), P()),
                        ((6, 8), P(None, ("r", "c"))), ((8, 8), P("c", "r")), ((16, 16), P(None, "c"))):
        print(f"=== picture {shape} {spec}")
        jax.debug.visualize_array_sharding(on(mesh, shape, spec))
    attempt("picture 3d", lambda: jax.debug.visualize_array_sharding(on(mesh, (4, 4, 4), P("r"))))
    jax.debug.inspect_array_sharding(on(mesh, (8, 8), P("r", "c")), callback=print)


def main():
    auto = Mesh(np.array(jax.devices()).reshape(2, 4), ("r", "c"))
    explicit = jax.make_mesh((2, 4), ("r", "c"), axis_types=(AxisType.Explicit,) * 2)
    print(jax.__version__)
    reprs(auto, explicit)
    spec_errors(auto)
    pictures(auto)
    jax.set_mesh(explicit)
    explicit_errors(explicit)


if __name__ == "__main__":
    main()
