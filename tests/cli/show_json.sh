# The object: texts or null with why, shards with ranges, offset only where there is one range.
meshwise show "S(0)[1]S(0)[0]" --shape 6 --mesh x=2,y=2 --json
meshwise show "{devices=[6]0,2,4,1,3,5}" --shape 12 --mesh x=2,y=3 --json
meshwise show "f32[4@:2,x, 0]" --mesh x=2 --json
meshwise show "MaskP" --shape 2 --mesh x=2 --dtype bf16 --json
meshwise show "f32[]" --mesh x=1 --json
