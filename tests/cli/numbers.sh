# Numbers that are none, or out of range: said before any file is opened.
. "$CASES/lib"
for n in -5 5x "" 1e3 99999999999999999999; do try run a.gguf --ids 1 -n "$n"; done
for t in nan inf -1 warm ""; do try run a.gguf --ids 1 --temp "$t"; done
try run a.gguf --ids 1 --top-k -1
try run a.gguf --ids 1 --seed x
try run a.gguf --ids 1 --top 1e9
try eval a.gguf b --expect nan
make_model tiny.gguf
try run tiny.gguf --ids 1 --threads 0
try run tiny.gguf --ids 1 --timeout -1
try run tiny.gguf --ids 1 --dtype f16
try run tiny.gguf --ids 1 --dtype floaty
for ids in 1,277 1,-1 1,,2 1, x "" 1.5; do try run tiny.gguf --ids "$ids" -n 1; done
