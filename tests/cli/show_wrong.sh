# Each is refused with a reason and exit 2.
no() { meshwise show "$@"; [ $? -eq 2 ] || echo "another exit code: $*"; }
no banana --shape 4 --mesh x=2
no "S(0)R" --mesh x=2,y=2
no "S(0)" --shape 4
no "S(3)" --shape 4,4 --mesh x=2
no "S(-3)" --shape 4,4 --mesh x=2
no "{devices=[2]0,0}" --shape 4 --mesh x=2
no "{devices=[2,6]<=[2,3,2]T(2,0,1)}" --shape 6,12 --mesh x=2
no "P('q')" --shape 4 --mesh x=2
no '[{"x"}, {"x"}]' --shape 4,4 --mesh x=2
no "f32[8@x]" --shape 9 --mesh x=2
no "f32[8@x]" --dtype f16 --mesh x=2
no "R" --shape 4,-1 --mesh x=2
no "R" --shape 4x4 --mesh x=2
no "R" --shape 4 --mesh x=2 --dtype f99
no "R" "R" --shape 4 --mesh x=2
no "S(0)" --shape 4611686018427387904,4 --mesh x=2
