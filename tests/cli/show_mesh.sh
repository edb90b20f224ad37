# A Shardy text may bring its mesh.
meshwise show '<mesh<["x"=2, "y"=2]>, [{"y"}, {"x", ?}p1]>' --shape 4,4
