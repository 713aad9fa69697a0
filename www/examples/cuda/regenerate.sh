#!/bin/sh
# Compiles every kernel here, or in the folders given, again: optimised (NAME.O3.ptx) and not (NAME.O0.ptx), each
# headed by its command. LEVELS="O3" leaves out those that are not optimised.
# Wants nvcc 13 on PATH or in $NVCC (pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cuda-runtime).
set -eu
nvcc=${NVCC:-nvcc}
for folder in "${@:-$(dirname "$0")}"; do
    for source in "$folder"/*.cu; do
        for level in ${LEVELS:-O3 O0}; do
            case $level in
            O3) flags="-O3" ;;
            O0) flags="-Xcicc -O0" ;;
            esac
            file=$(basename "$source")
            made=${source%.cu}.$level.ptx
            "$nvcc" -ptx -arch=sm_80 $flags "$source" -o "$made.new"
            {
                echo "// nvcc -ptx -arch=sm_80 $flags $file -o ${file%.cu}.$level.ptx"
                cat "$made.new"
            } >"$made"
            rm "$made.new"
        done
    done
done
