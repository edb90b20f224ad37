# The figures themselves are not looked at: only that all rows and keys are there, that every figure is a positive
# number, and that cached calls ask for no memory.
. "$CASES/lib"
figure='[0-9][0-9.]*\(e[-+]*[0-9]*\)\{0,1\}'

# One line per row of an array of objects, figures as FIGURE.
rows() {
    array "$1" <all.json | sed 's/},{/}\
{/g' | sed 's/"\([a-z_]*seconds\|ratio\)":'"$figure"'/"\1":FIGURE/g'
}

make_model tiny.gguf
meshwise bench --json >all.json
grep -c . all.json
sed 's/"comm":.*//' all.json
for part in comm reshard; do
    echo "$part"
    rows $part
done
sed 's/.*"bandwidth":/bandwidth /' all.json
meshwise bench dispatch
meshwise bench plan
meshwise bench decode --model tiny.gguf --json
meshwise bench decode --model tiny.gguf
meshwise bench prefill --model tiny.gguf --json
meshwise bench prefill --model tiny.gguf
make_model short.gguf --context 8
try bench decode --model short.gguf
try bench decode --model nowhere.gguf
