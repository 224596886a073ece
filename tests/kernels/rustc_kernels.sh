#!/bin/sh
# Compiles the kernels of `rustc_kernels.rs` to PTX with a nightly rustc, together with what they use of the core library:
#
#     rustup toolchain install nightly --component rust-src
#     tests/kernels/rustc_kernels.sh
#
# `rustc-provenance.txt` says which compiler wrote them. Cargo ends with an error, as there is no linker for the target; the assembly that
# rustc has written by then is all that is wanted.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
package=$(mktemp -d)
trap 'rm -r "$package"' EXIT
cat > "$package/Cargo.toml" <<END
[package]
name = "rustc_kernels"
edition = "2024"
[lib]
path = "rustc_kernels.rs"
crate-type = ["cdylib"]
[profile.release]
opt-level = "s"
codegen-units = 1
lto = "fat"
panic = "abort"
[workspace]
END
cp "$here/rustc_kernels.rs" "$package"
cd "$package"
# The output does not depend on where the folder and the library are, and names are short.
library=$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library
export RUSTFLAGS="-Zunstable-options -Csymbol-mangling-version=hashed --remap-path-prefix=$library/= --remap-path-prefix=$package/="
cargo +nightly rustc --release -Zbuild-std=core --target nvptx64-nvidia-cuda -- --emit asm -C target-cpu=sm_80 2>&1 | grep -v linker || true
cp target/nvptx64-nvidia-cuda/release/deps/rustc_kernels.s "$here/rustc-sm_80.ptx"
echo "rustc-sm_80.ptx: rustc_kernels.rs by $(rustc +nightly --version)" > "$here/rustc-provenance.txt"
