# Mistakes in the command line: one line each, exit 2.
. "$CASES/lib"
try
try --json
try exlpain
try bnech
try run
try run a.gguf b.gguf --ids 1
try run a.gguf
try run a.gguf --ids 1 --prompt hi
try run a.gguf --prompt hi --chat hi --json
try run a.gguf --no-such
try run a.gguf --promt hi
try run a.gguf --prompt hi --prompt ho
try run a.gguf --prompt
try run a.gguf --prompt hi --strict=yes
try run a.gguf --prompt hi --expect 3
try eval a.gguf
try tokenize
try tokenize a.gguf
try tokenize a.gguf b c
try ops mm add
try ops mmm
try ops add --strict
try bench everything
try bench dispatsh
try bench decode
try bench dispatch --model a.gguf
MESHWISE_FAULT=alloc:many try ops
MESHWISE_FAULT=rank:1,op: try ops
