# The same tokens on every mesh, nothing moved unasked, and every rank's share of the weights. The model has 3 kv
# groups: 2 ranks share them 2:1, the fourth and fifth have none.
. "$CASES/lib"
make_model tiny.gguf
for tp in 1 2 3 4 5; do
    meshwise run tiny.gguf --mesh tp=$tp --prompt "hello xyz" -n 16 --strict --json >out || echo "[exit $?]"
    printf '%s\n' "tp=$tp $(array ids <out) $(string text <out)"
    echo "  unasked $(number unasked <out), $(number collectives <out) collectives, weights $(array weight_bytes <out)"
done
