# One step, at the bound; then two classic ones, run and checked.
meshwise plan "f32[16@y, 8@x] -> f32[16@y, 8]" --mesh x=2,y=4
echo
meshwise plan "f32[16, 8@y,x, 8] -> f32[16@x,y, 8, 8]" --mesh x=2,y=2 --steps classic --minimize bytes --run
echo
# Sub-axes, strided and uneven layouts, terms that are combined.
meshwise plan "f32[16@x, 8@y] -> f32[16@y, 8@x]" --mesh x=4,y=2 --steps classic --minimize bytes --run
echo
meshwise plan "f32[2*4@x, 3@y] -> f32[8@x, 3]" --mesh x=2,y=3 --run
echo
meshwise plan "bf16[10, 6]{sum:x} -> bf16[10@x, 6]" --mesh x=3 --run
echo
meshwise plan "f32[16] -> f32[16]" --mesh x=2
