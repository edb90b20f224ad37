# opt: passes by name, the program after one of them, and as an object; what is not there is an error.
. "$CASES/lib"
cat >mlp.mw <<END
mesh @m = [tp=2]
func @mlp(%x: f32[4, 6] = randn([4, 6], seed=1), %w: f32[6@tp, 8] = randn([6, 8], seed=2)) {
  %y = relu(mm(%x, %w))
  return %y
}
END
meshwise opt mlp.mw --passes all --json
meshwise opt mlp.mw --print-after=reshard
for wrong in "--passes reshad" "--passes all --print-after=nonsense" "--passes propagate --print-after=reshard"; do
    echo "--- $wrong"
    meshwise opt mlp.mw $wrong 2>&1
    echo "exit $?"
done
echo "--- exec checks what was written, whatever passes made of it"
cat >sums.mw <<END
mesh @m = [x=2]
func @sums(%a: f32[8@x, 6] = randn([8, 6], seed=1)) {
  return cumsum(%a, 0)
}
END
meshwise exec sums.mw --passes all --check | tail -4
echo "--- why a value is a sum of terms"
cat >partial.mw <<END
mesh @m = [x=2]
func @partial(%a: f32[64@x, 2], %b: f32[64@x, 2]) {
  %g = mm(transpose(%a, 0, 1), %b)
  %h = mul(%g, 2)
  return %h
}
END
meshwise opt partial.mw --passes propagate,reshard --why g
meshwise opt partial.mw --passes propagate,reshard --why h
