# Over a slow axis each rank fetches its share; the shares go round over the fast one.
printf '# two hosts\naxis host: latency_us 10, gbps 5\naxis gpu: gbps 400\ndefault: latency_us 2\n' >links
meshwise plan "f32[4096@host, 64] -> f32[4096, 64]" --mesh host=2,gpu=4 --topology links --run
echo
meshwise plan "f32[4096, 64]{sum:host,gpu} -> f32[4096, 64]" --mesh host=2,gpu=4 --topology links --run
for line in 'axis host latency_us 1' 'axis host: gbps 0' 'axis host: gbps 1 gbps 2' 'host: gbps 1' \
    'axis tp: gbps 1' 'axis host: speed 3'; do
    echo "$line" >wrong
    meshwise plan "f32[4@host] -> f32[4]" --mesh host=2 --topology wrong
    [ $? -eq 2 ] || echo "another exit code: $line"
done
meshwise plan "f32[4@host] -> f32[4]" --mesh host=2 --topology nowhere
