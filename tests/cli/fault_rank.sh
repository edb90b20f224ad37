# A rank that fails alone: every other rank comes back with an error that names it, nobody waits for ever.
. "$CASES/lib"
make_model tiny.gguf
printf 'hello xyz hello' >text
for fault in rank:0,op:1 rank:1,op:20 rank:2,op:60 rank:1,op:300; do
    for tp in 3 4; do
        echo "$fault tp=$tp"
        MESHWISE_FAULT=$fault timeout 60 meshwise run tiny.gguf --ids 1,2 -n 8 --mesh tp=$tp >out 2>err
        echo "[exit $?]"
        grep -o "injected failure of rank [0-9]* in its op call [0-9]*" err | head -n 1
    done
done
echo "in a compiled run"
MESHWISE_FAULT=rank:1,op:300 timeout 60 meshwise run tiny.gguf --ids 1,2 -n 8 --mesh tp=3 --compiled >out 2>err
echo "[exit $?]"
grep -o "injected failure of rank 1 in its op call 300" err | head -n 1
MESHWISE_FAULT=rank:1,op:20 timeout 60 meshwise eval tiny.gguf text --mesh tp=2 2>err
echo "[exit $?]"
grep -o "injected failure of rank 1 in its op call 20" err | head -n 1
echo "a fault of a rank or an op that there isn't does nothing"
MESHWISE_FAULT=rank:7,op:1 meshwise run tiny.gguf --ids 1,2 -n 2 --mesh tp=2 --json | array ids
MESHWISE_FAULT=rank:1,op:1000000 meshwise run tiny.gguf --ids 1,2 -n 2 --mesh tp=2 --json | array ids
