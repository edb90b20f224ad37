# Text to ids and back: nothing stripped, nothing added, special tokens parsed, lost bytes told.
. "$CASES/lib"
make_model tiny.gguf
try tokenize tiny.gguf ' hello  xyz'
try tokenize tiny.gguf 'hello<|im_end|>' --json
try tokenize tiny.gguf '' --json
try tokenize tiny.gguf ''
try tokenize tiny.gguf --json -- -n
echo "standard input"
printf 'hello\n\n' | meshwise tokenize tiny.gguf - --json
printf 'a\000b' | meshwise tokenize tiny.gguf - --json
printf 'a\004b\377' | meshwise tokenize tiny.gguf - --json
echo "[exit $?]"
printf '' | meshwise tokenize tiny.gguf - --json
printf '\004\004\004\004\004\004\004\004\004\004' | meshwise tokenize tiny.gguf -
echo "partial characters"
try tokenize tiny.gguf é --json
echo "and back"
try tokenize tiny.gguf --decode '72 77,77,80'
try tokenize tiny.gguf --decode '' --json
printf ' 1,\n2 ' | meshwise tokenize tiny.gguf --decode - --json
meshwise tokenize tiny.gguf ' hello  xyz é' | meshwise tokenize tiny.gguf --decode - | od -c
for ids in x 277 -1 1.5 99999999999999999999999999 '1;2'; do try tokenize tiny.gguf --decode -- "$ids"; done
