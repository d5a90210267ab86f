#!/usr/bin/env bash
# Runs what needs a GPU, and packs what came out: logs, tables, clusters and versions, as one archive to send.
#
#   docs/examples/gpu.sh [--dry-run] [FOLDER]
#
# It needs a placebench with the executor cuda (cargo build --release --features cuda), NVIDIA's driver, and a Python with
# torch and jax. PLACEBENCH and PLACEBENCH_PYTHON name them if they are elsewhere. A step that fails is noted in
# summary.txt, and the next one runs. FOLDER (default: gpu-results) must not exist. --dry-run prints the commands and runs
# none; GPUS sets how many GPUs it then takes for granted (default: 2).
#
# The archive holds names of the machine's hardware, driver and packages, and nothing else of it.
set -u

dry=false
if [ "${1:-}" = --dry-run ]; then
    dry=true
    shift
fi
out=${1:-gpu-results}
placebench=${PLACEBENCH:-placebench}
python=${PLACEBENCH_PYTHON:-python3}
export PLACEBENCH_PYTHON=$python
# Each virtual device has streams of its own: 8 hardware queues, the driver's default, are too few.
export CUDA_DEVICE_MAX_CONNECTIONS=32
limit=${LIMIT:-1800} # seconds a step
one=${CUDA_VISIBLE_DEVICES:-0}
one=${one%%,*}
failed=0

if $dry; then
    gpus=${GPUS:-2}
else
    if [ -e "$out" ]; then
        echo "error: $out exists: name another folder" >&2
        exit 2
    fi
    mkdir -p "$out" || exit 2
    gpus=${GPUS:-$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')}
    echo "$gpus GPUs, $(date -u +%Y-%m-%dT%H:%M:%SZ)" > "$out/summary.txt"
fi

# step NAME COMMAND…: runs a command in the folder's log, and notes how it ended.
step() {
    local name=$1
    shift
    if $dry; then
        printf '%s:' "$name"
        printf ' %q' "$@"
        echo
        return
    fi
    printf '%s: ' "$name"
    { printf '$'; printf ' %q' "$@"; echo; } > "$out/$name.log"
    timeout "$limit" "$@" >> "$out/$name.log" 2>&1
    local code=$?
    if [ $code = 0 ]; then
        echo ok | tee -a "$out/$name.log"
        echo "ok      $name" >> "$out/summary.txt"
    else
        echo "failed with $code: see $out/$name.log"
        echo "failed  $name ($code)" >> "$out/summary.txt"
        failed=$((failed + 1))
    fi
}

# cluster COUNT: a cluster file of COUNT equal GPUs, for the executor cuda, which has no CPUs.
cluster() {
    $dry || printf '%s\n' '[[device]]' 'name = "gpu"' "count = $1" 'kind = "GPU"' 'speed = "8870 Gops/s"' \
        '[link]' 'rate = "12 GB/s"' 'latency = "5 us"' > "$out/gpus$1.toml"
}
cluster 4
[ "$gpus" -lt 2 ] || cluster "$gpus"

# What there is.
step nvidia-smi nvidia-smi
step nvidia-smi-topology nvidia-smi topo -m
step nvidia-smi-state nvidia-smi -q -d CLOCK,PERFORMANCE,ECC
step version "$placebench" --version
step python-version "$python" -c 'import sys; print(sys.version)'
step torch-version "$python" -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.device_count())'
step jax-version "$python" -c 'import jax; print(jax.__version__, jax.devices())'

# The executor cuda: one GPU as four devices, and each GPU as a device. The kernel wait takes the times that the graph has
# for a GTX 1080.
for graph in gpt2 convnet resnet50; do
    for launch in commands graph; do
        for kernel in wait compute; do
            step "cuda-virtual-$graph-$launch-$kernel" "$placebench" execute "$graph" --cluster "$out/gpus4.toml" --placer heft \
                --executor cuda --virtual 4 --launch "$launch" --kernel "$kernel" --table "$out/cuda-virtual-$graph-$launch-$kernel.csv"
        done
        if [ "$gpus" -ge 2 ]; then
            step "cuda-$graph-$launch" "$placebench" execute "$graph" --cluster "$out/gpus$gpus.toml" --placer heft \
                --executor cuda --launch "$launch" --table "$out/cuda-$graph-$launch.csv"
        fi
    done
done

# PyTorch and JAX: several devices on one GPU, then a GPU for each device. Calibrating writes the cluster and the graphs.
for executor in torch jax; do
    graph=$([ $executor = torch ] && echo seq2seq || echo gpt2)
    step "$executor-one-gpu-calibrate" env "CUDA_VISIBLE_DEVICES=$one" "$placebench" calibrate --executor $executor --devices 0 --gpus 2 \
        --graph "$graph" --anyway -o "$out/$executor-one-gpu.toml"
    step "$executor-one-gpu-execute" env "CUDA_VISIBLE_DEVICES=$one" "$placebench" execute "$out/$executor-one-gpu/$graph" \
        --cluster "$out/$executor-one-gpu.toml" --placer heft --executor $executor --network loggp \
        --table "$out/$executor-one-gpu.csv"
    step "$executor-gpus-calibrate" "$placebench" calibrate --executor $executor --devices 1 --gpus "$gpus" \
        --graph "$graph" -o "$out/$executor-gpus.toml"
    step "$executor-gpus-execute" "$placebench" execute "$out/$executor-gpus/$graph" --cluster "$out/$executor-gpus.toml" \
        --placer heft --executor $executor --network loggp --table "$out/$executor-gpus.csv"
    step "$executor-gpus-reality" "$placebench" run "$out/$executor-gpus/reality.toml" --out "$out/$executor-reality" \
        --table "$out/$executor-reality.csv"
done

step pack tar -czf "$out.tar.gz" "$out"
if ! $dry; then
    cat "$out/summary.txt"
    echo "send $out.tar.gz"
    [ $failed = 0 ]
fi
