# The op table, and placements that follow from the rules.
. "$CASES/lib"
for op in mm aten::add.Tensor addmm mul_scalar view transpose_int amax _softmax cat embedding; do try ops $op; done
try ops mm --json
echo "all of them, each with a doc and a placement that replicates"
test "$(meshwise ops | wc -l)" = "$(grep -c '^OP(' "$CASES/../../src/ops/ops.def")" && echo "as many as there are"
meshwise ops --json | grep -o '"doc":""'
meshwise ops --json | sed 's/{"name"/\n&/g' | grep '"name"' | grep -v '"placements":\[{"in":\[\("R",\{0,1\}\)*\],"out":\["R"'
echo "none without"
