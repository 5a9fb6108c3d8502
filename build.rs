//! Compiles the kernels for NVIDIA GPUs, in builds with the feature `cuda`: to PTX, which the driver of the
//! GPU compiles for it.
//!
//! The compiler is `nvcc`: of the variable `NVCC`, of `CUDA_HOME`, or on the `PATH`. candle's own build needs it, too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest GPUs that are supported: Ampere.
const ARCHITECTURE: &str = "-arch=compute_80";

const KERNELS: &str = "src/model/paged_attention/kernels.cu";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={KERNELS}");
    println!("cargo::rerun-if-env-changed=NVCC");
    println!("cargo::rerun-if-env-changed=CUDA_HOME");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(());
    }
    let folder = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let output = Path::new(&folder).join("paged_attention.ptx");
    let mut command = Command::new(nvcc());
    command.args(["--ptx", "-O3", "-std=c++17", ARCHITECTURE, "--Werror", "all-warnings", "-o"]);
    let status = command.arg(output).arg(KERNELS).status();
    let status = status.map_err(|error| {
        format!("{}: {error}; the feature `cuda` needs NVIDIA's CUDA toolkit", nvcc().display())
    })?;
    if status.success() { Ok(()) } else { Err(format!("nvcc could not compile {KERNELS}")) }
}

fn nvcc() -> PathBuf {
    let of_home = || std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin/nvcc"));
    let given = std::env::var_os("NVCC").map(PathBuf::from);
    given.or_else(of_home).unwrap_or_else(|| PathBuf::from("nvcc"))
}
