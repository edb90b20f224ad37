# One dim, uneven and strided: shown as it is; what tiles cannot say has its reason.
meshwise show "_S(0, 3)" --shape 10 --mesh x=2
echo
meshwise show "f32[9@x,y]{sum:z}" --mesh x=2,y=2,z=2
