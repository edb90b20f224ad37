# The log in DTensor's format: rank 0's, or each rank's own where the file is named by it.
. "$CASES/lib"
make_model tiny.gguf
run() { meshwise run tiny.gguf --ids 1,2 -n 2 --mesh tp=2 "$@"; }
run --log dispatch --device xpu --log-file log --json | number collectives
head -n 30 log | cut -c 1-240
for line in 'Dispatching op_call' 'output_sharding for' 'propagate_shape_and_sharding' 'redistribute from P to R on mesh dim 0'; do
    echo "$(grep -c "$line" log) of $line"
done
echo "other lines: $(grep -vc -e '^_dispatch.py:152\] Dispatching op_call: Op(op=aten' -e '^_dispatch.py:156\] output_sharding for aten' \
    -e '^rank0 propagate_shape' -e '^_redistribute.py:202\] redistribute from [PRS].* to [PRS].* on mesh dim 0$' log)"
echo "layouts that DTensor can't say stand as meshwise's own"
grep -o 'aten.linear.default.*f32.3@tp.8, 48[^)]*)' log | head -n 1
run --log dispatch --log-file each.%r >out
for r in 0 1; do echo "$(grep -c "^rank$r propagate" each.$r) of rank $r"; done
for r in 0 1; do sed -e "s/^rank$r //" -e 's/stride=([^)]*)//' each.$r >same.$r; done
cmp same.0 same.1 && echo "the ranks agree"
echo "without a file it goes to stderr, with the label of --device or cpu"
run --log dispatch 2>err >out; grep -c "device: 'cpu'" err
try run tiny.gguf --ids 1 --device xpu
try run tiny.gguf --ids 1 --log events --device xpu
