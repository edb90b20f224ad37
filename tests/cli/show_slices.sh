# Three dims are slices of the last two; wide ones are cut short.
meshwise show "[2*4@tp, 16, 4]" --mesh tp=2
echo
meshwise show "f32[64*2@x, 4]" --mesh x=2
