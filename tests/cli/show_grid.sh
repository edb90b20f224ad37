# A grid: any notation in, all out, who holds what.
meshwise show "{devices=[2,4]<=[8]}" --shape 16,8 --mesh x=2,y=4
