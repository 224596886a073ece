"""Compiles the kernels of this folder and of the bench `kernels` to PTX with NVRTC.

    python -m venv venv && venv/bin/pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt
    venv/bin/python generate.py

`provenance.txt` says which compiler wrote what.
"""
import ctypes
import glob
import os
import site
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(os.path.dirname(os.path.dirname(HERE)), "benches", "kernels")

# Earlier targets have no clusters and no tensor copies.
ARCHITECTURES = {"cluster": ["compute_90"], "asynchronous": ["compute_90"], "cancel": ["compute_100f"], "rows": ["compute_100f"]}


def find(pattern):
    for folder in site.getsitepackages():
        found = glob.glob(os.path.join(folder, "nvidia", "**", pattern), recursive=True)
        if found:
            return found[0]
    sys.exit(f"no {pattern}: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt")


def compile(nvrtc, folder, name, architecture, *more):
    source = open(os.path.join(folder, name + ".cu"), "rb").read()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, (name + ".cu").encode(), 0, None, None)
    include = os.path.dirname(find("cuda_fp16.h"))
    options = [b"--gpu-architecture=" + architecture.encode(), b"--std=c++17", b"--device-int128", *more]
    options += [b"-I" + path.encode() for path in [include, os.path.join(include, "cccl")]]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    text = text.value.decode()
    # The output does not depend on where this folder and the headers are.
    for path in [os.getcwd(), include]:
        text = text.replace(os.path.join(path, ""), "")
    with open(os.path.join(folder, f"{name}-{architecture}.ptx"), "w") as out:
        out.write(text)


def main():
    nvrtc = ctypes.CDLL(find("libnvrtc.so.*"))
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    lines = []
    for path in sorted(glob.glob(os.path.join(HERE, "*.cu"))):
        name = os.path.splitext(os.path.basename(path))[0]
        for architecture in ARCHITECTURES.get(name, ["compute_80", "compute_90"]):
            compile(nvrtc, HERE, name, architecture, b"-lineinfo")
            lines.append(f"{name}-{architecture}.ptx: {name}.cu by NVRTC {major.value}.{minor.value}\n")
    compile(nvrtc, BENCH, "kernels", "compute_80")
    lines.append(f"../../benches/kernels/kernels-compute_80.ptx: kernels.cu by NVRTC {major.value}.{minor.value}\n")
    with open(os.path.join(HERE, "provenance.txt"), "w") as out:
        out.writelines(lines)


main()
