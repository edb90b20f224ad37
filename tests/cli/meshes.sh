# Meshes that are none, and what the mesh means for the model.
. "$CASES/lib"
make_model tiny.gguf
for mesh in tp=0 tp=-1 tp=x tp=1000000 tp=5000 "" tp tp=2,tp=2 dp=2 "tp=2 ids=[0]" "tp=2;dp=2"; do
    try run tiny.gguf --ids 1,2 -n 1 --mesh "$mesh"
done
try run tiny.gguf --ids 1,2 -n 1 --backend carrier-pigeon
for mesh in tp=2 tp=3 tp=4 dp=2,tp=3; do
    echo "$mesh"
    meshwise run tiny.gguf --ids 1,2 -n 1 --mesh $mesh --json | array notes
done
