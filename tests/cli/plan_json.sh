# The object of issue and docs; other notations; a topology's links.
meshwise plan "f32[16@y, 8@x] -> f32[16@y, 8]" --mesh x=2,y=4 --json
meshwise plan "S(0)R -> RS(0)" --shape 4,6 --mesh x=2,y=2 --json --run
meshwise plan "f32[4@x, 6] -> P(None, 'y')" --mesh x=2,y=2 --json
meshwise plan "f32[8, 6]{sum:x} -> f32[8@x, 6]" --mesh x=2 --json
meshwise plan "f32[8, 6] -> f32[8, 6]{sum:x}" --mesh x=2 --json
printf 'axis host: latency_us 10, gbps 5 # slow\naxis gpu: gbps 400\n' >links
meshwise plan "f32[4096@host, 64] -> f32[4096, 64]" --mesh host=2,gpu=4 --topology links --json
