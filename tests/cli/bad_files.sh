# Files that are not what they should be.
. "$CASES/lib"
make_model tiny.gguf
mkdir folder
: >empty.gguf
head -c 100 tiny.gguf >short_header.gguf
head -c 100000 tiny.gguf >short_data.gguf
{ printf GGML; tail -c +5 tiny.gguf; } >magic.gguf
{ head -c 4 tiny.gguf; printf '\143\0\0\0'; tail -c +9 tiny.gguf; } >version.gguf
{ head -c 8 tiny.gguf; printf '\0\0\0\0\0\0\0\020'; tail -c +17 tiny.gguf; } >tensors.gguf
{ head -c 16 tiny.gguf; printf '\0\0\0\0\0\0\0\020'; tail -c +25 tiny.gguf; } >keys.gguf
make_model missing.gguf --without blk.1.ffn_up.weight
make_model embedding.gguf --without token_embd.weight
make_model reshaped.gguf --reshape blk.2.attn_q.weight
sed 's/general.architecture/general.architecturf/' tiny.gguf >architecture.gguf
sed 's/tokenizer.ggml.merges/tokenizer.ggml.mergez/' tiny.gguf >merges.gguf
for file in nowhere.gguf folder empty.gguf short_header.gguf short_data.gguf magic.gguf version.gguf \
    tensors.gguf keys.gguf missing.gguf embedding.gguf reshaped.gguf architecture.gguf merges.gguf; do
    try run $file --ids 1,2 -n 1
done
try run missing.gguf --ids 1,2 -n 1 --mesh tp=2
try tokenize empty.gguf hello
try tokenize folder hello
try eval tiny.gguf nowhere
try eval tiny.gguf folder
try run tiny.gguf --prompt-file nowhere -n 1
try run tiny.gguf --prompt-file folder -n 1
