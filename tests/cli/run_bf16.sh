# Weights kept as bf16: the same tokens on every number of ranks, op by op and compiled.
make_model tiny.gguf
for mesh in tp=1 tp=2 tp=3; do
    for how in "" --compiled; do
        meshwise run tiny.gguf --ids 1,2,3 -n 4 --mesh $mesh --dtype bf16 $how --json | grep -o '"ids":[^]]*]'
    done
done
