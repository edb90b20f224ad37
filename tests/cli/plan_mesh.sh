# The same ranks in another order, and under other axes.
to='x=2,y=2 ids=[3,2,1,0]'
for pair in "[16@x, 8@y] -> [16@x, 8@y]" "[16@x,y, 8] -> [16@y,x, 8]" "[16@x, 8@y] -> [16@x, 8]" \
    "[16@x, 8] -> [16@y,x, 8]" "[16, 8@y,x, 8] -> [16@x, 8, 8@y]"; do
    meshwise plan "$pair" --mesh x=2,y=2 --to-mesh "$to" --steps classic --minimize bytes --run
done
meshwise plan "[16@x,y, 8] -> [16@a, 8]" --mesh x=2,y=2 --to-mesh a=4 --run
meshwise plan "[12@x, 8@y] -> [12@a, 8@b]" --mesh x=2,y=3 --to-mesh a=3,b=2 --run
