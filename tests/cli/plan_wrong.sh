# Each is refused with a reason and exit 2.
no() { meshwise plan "$@"; [ $? -eq 2 ] || echo "another exit code: $*"; }
no "f32[16@x, 8@x] -> f32[16, 8]" --mesh x=2
no "f32[16@q] -> f32[16]" --mesh x=2
no "f32[16@x] -> f32[8]" --mesh x=2
no "f32[16@x] -> f64[16]" --mesh x=2
no "f32[16@x -> f32[16]" --mesh x=2
no "f32[16@x] -> f32[16]]" --mesh x=2
no "f32[99999999999999999999@x] -> f32[1]" --mesh x=2
no "f32[4294967296@x, 4294967296, 4294967296] -> f32[4294967296, 4294967296, 4294967296]" --mesh x=2
no "f64[4611686018427387904@x] -> f64[4611686018427387904]" --mesh x=2
no "f32[8]{sum:x,max:y} -> f32[8]" --mesh x=2,y=2
no "f32[16@x]" --mesh x=2
no "f32[16@x] -> " --mesh x=2
no "S(0) -> R" --mesh x=2
no "f32[16@x] -> f32[16]"
no --mesh x=2
no "f32[16@x] -> f32[16]" --mesh x=2 --to-mesh x=3
no "f32[16@x] -> f32[8]" --mesh x=2 --to-mesh y=2
no "f32[16@x] -> f32[16]" --mesh x=2 --steps some
no "f32[16@x] -> f32[16]" --mesh x=2 --minimize space
no "f32[16@x] -> f32[16]" --mesh x=0
no "f32[16@x] -> f32[16]" --mesh "x=2,y=2 ids=[0,1,1,2]"
no "f32[16@x] -> f32[8]" --mesh x=2 --json
