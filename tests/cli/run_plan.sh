# A plan file instead of the model's own.
. "$CASES/lib"
make_model tiny.gguf
cat >whole <<'P'
# every rank holds everything
token_embd.weight: [277, 48]
output.weight:     [277, 48]   # the head
blk.*.attn_q.weight: [48, 48]
blk.*.attn_k.weight: [24, 48]
blk.*.attn_v.weight: [24, 48]
blk.*.attn_output.weight: [48, 48]
blk.*.ffn_gate.weight: [64, 48]
blk.*.ffn_up.weight: [64, 48]
blk.*.ffn_down.weight: [48, 64]
*norm.weight: [48]
P
sed 's/\[64, 48\]/[64@tp, 48]/; s/\[48, 64\]/[48, 64@tp]/' whole >mlp
for plan in whole mlp; do
    meshwise run tiny.gguf --ids 1,2,3 -n 6 --mesh tp=2 --plan $plan --strict --json >out
    echo "$plan $(array ids <out) $(array weight_bytes <out) $(number collectives <out) collectives"
done
meshwise run tiny.gguf --ids 1,2,3 -n 6 --json | array ids
echo "a page that splits what nobody asked to be joined is refused by --strict, and works without"
sed 's/attn_q.weight: \[48, 48\]/attn_q.weight: [48, 48@tp]/' whole >odd
meshwise run tiny.gguf --ids 1,2,3 -n 6 --mesh tp=2 --plan odd --json | array ids
meshwise run tiny.gguf --ids 1,2,3 -n 6 --mesh tp=2 --plan odd --strict >out 2>err
echo "[exit $?]"
grep -c 'would move .* unasked' err
printf 'a: [\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
printf 'nothing\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
printf '# none\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
printf '*: [1]\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
printf '*: [277@pp, 48]\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
printf '*: [277, 48]{sum:tp}\n' >bad; try run tiny.gguf --ids 1 -n 1 --mesh tp=2 --plan bad
printf '*: [277, 48]\000\n' >bad; try run tiny.gguf --ids 1 -n 1 --plan bad
try run tiny.gguf --ids 1 -n 1 --plan nowhere
