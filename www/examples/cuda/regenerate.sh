#!/bin/sh
# Compiles every kernel here again, optimised (NAME.O3.ptx) and not (NAME.O0.ptx), each headed by its command.
# Wants nvcc 13 on PATH or in $NVCC (pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cuda-runtime).
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
for source in *.cu; do
    name=${source%.cu}
    for level in O3 O0; do
        case $level in
        O3) flags="-O3" ;;
        O0) flags="-Xcicc -O0" ;;
        esac
        "$nvcc" -ptx -arch=sm_80 $flags "$source" -o "$name.$level.ptx.new"
        {
            echo "// nvcc -ptx -arch=sm_80 $flags $source -o $name.$level.ptx"
            cat "$name.$level.ptx.new"
        } >"$name.$level.ptx"
        rm "$name.$level.ptx.new"
    done
done
