# A text that is still being written: what is known is told before it ends.
. "$CASES/lib"
mkfifo in out
# follow OPTION...: hands on what stands in `first`, shows one line of the answer while the writer is still there,
# then hands on `rest` and shows the end.
follow() {
    meshwise explain - "$@" <in >out &
    exec 3>in 4<out
    cat first >&3
    IFS= read -r line <&4
    echo "while it is written: $line"
    cat rest >&3
    exec 3>&-
    cat <&4
    exec 4<&-
    wait
}
cat >first <<'END'
mesh @m = [tp=4]
func @f(%x: f32[8@tp, 4]{sum:tp}) {
END
sed -i 's/@tp, 4]{/, 4]{/' first
cat >rest <<'END'
  %r = reduce_scatter(%x, axes=[tp], dim=0)  : f32[8@tp, 4]  ; because: 1 B received per rank
  return %r
}
END
follow --all | grep -v '^  '
follow
cat first rest >whole
echo "and without a pause:"
meshwise explain - <whole
