# Where a prompt comes from, and when the answer ends.
. "$CASES/lib"
make_model tiny.gguf
try run tiny.gguf --prompt 'hello xyz' -n 6
try run tiny.gguf --ids 1,2,3 -n 6 -q
printf 'hello xyz' >prompt
meshwise run tiny.gguf --prompt-file prompt -n 6
meshwise run tiny.gguf --prompt-file - -n 6 <prompt
echo "special tokens in a prompt are tokens"
meshwise run tiny.gguf --prompt 'hello<|im_end|>' -n 1 --json | array prompt_ids
echo "a chat ends with the turn, and its ids include the end; --ignore-eos goes on"
meshwise run tiny.gguf --chat hello --json >out; array ids <out; number eos_at <out; array prompt_ids <out
meshwise run tiny.gguf --chat hello -n 8 --ignore-eos --json >out; array ids <out; number eos_at <out
echo "ids go on after an end, too"
meshwise run tiny.gguf --ids "$(array prompt_ids <out | tr -d '[]')" -n 8 --json >out; array ids <out; number eos_at <out
echo "no tokens wanted"
meshwise run tiny.gguf --ids 1,2 -n 0 --json | array ids
echo "bytes that the vocabulary lacks"
printf 'hello\004' >prompt
try run tiny.gguf --prompt-file prompt -n 2
echo "limits"
try run tiny.gguf --prompt '' -n 1
try run tiny.gguf --ids 1,2 -n 63
try run tiny.gguf --ids 1,2 -n 9000 --mesh tp=2
meshwise run tiny.gguf --ids 1,2 -n 62 --json | array ids | tr ',' '\n' | wc -l
meshwise run tiny.gguf --ids 1,2 --json | array ids | tr ',' '\n' | wc -l
