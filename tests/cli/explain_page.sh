# The page: both sides linked, drawings, and nothing of the text that could be markup.
. "$CASES/lib"
cat >log <<'END'
mesh @m = [dp=2, tp=3]
func @f(%x: f32[8@dp, 9@tp], %w: f32[9@tp, 4]) {
  %p = mm(%x, %w)                      : f32[8@dp, 4]{sum:tp}
  %y = all_reduce(%p, axes=[tp])       : f32[8@dp, 4]
  return %y
}
</pre></a><script>alert(1)</script><img src=x onerror='alert(2)'> "quotes" & &lt;
rank 0 #1 move permute tp: f32[6@tp] -> f32[6@tp]  8 B (most 8)  asked by redistribute of </article><b>  [net/</a>.c:7 '"><i>]
END
cp log '<i>.log'
meshwise explain '<i>.log' --html page >/dev/null
for what in '<article' 'class=.line' "href='#e2'" "href='#l3'" '<svg' '<use' 'class=.bar' '<script' '</script' '<img' '<i>' '<b>alert' 'onerror=.alert' 'https*:' ' src='; do
    echo "$what: $(grep -o -- "$what" page | wc -l)"
done
grep -o "<b>7</b>.*" page
grep -o '<h1>.*</h1>' page
echo "rank and piece"
grep -o '<title>rank[^<]*</title>' page | head -n 4
grep -o 'Hatched[^.]*' page | sed 's/<[^>]*>//g' | head -n 1
try explain log --html no/such/folder/page
meshwise explain - --html page --only problems <log >/dev/null; grep -c '<article' page
: | meshwise explain - --html page; grep -o 'Nothing in the text[^.]*' page
