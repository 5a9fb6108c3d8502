//! The launches of the kernels in `kernels.cu`.

use candle_core::cuda_backend::cudarc::driver::{
    CudaSlice, CudaView, DeviceRepr, LaunchConfig, PushKernelArg,
};
use candle_core::cuda_backend::{CudaDType, WrapErr};
use candle_core::{
    CudaStorage, DType, Error, Layout, Result, Shape, Storage, Tensor, WithDType, bail,
};
use half::{bf16, f16};

use super::{Attend, AttentionParams, MAX_WIDTH, Store};

/// The kernels, as `build.rs` compiled them.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/paged_attention.ptx"));

/// Threads of a block of `attend`: `WARPS` of kernels.cu, 8.
const ATTEND_THREADS: u32 = 256;

/// Positions that one block of threads of `attend` reads, as in kernels.cu.
const SPLIT: usize = 512;

/// The name by which candle knows the kernels.
const MODULE: &str = "maskwright_paged_attention";

/// The name by which kernels know a dtype.
fn name_of(dtype: DType) -> Result<&'static str> {
    match dtype {
        DType::F32 => Ok("f32"),
        DType::F16 => Ok("f16"),
        DType::BF16 => Ok("bf16"),
        other => bail!("no attention over {other:?}"),
    }
}

/// A size as kernels take it.
fn size(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::msg("a size is beyond 32 bits"))
}

fn view<'a, T: CudaDType>(storage: &'a CudaStorage, layout: &Layout) -> Result<CudaView<'a, T>> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(storage.as_cuda_slice::<T>()?.slice(from..to)),
        None => bail!("{layout:?} is not contiguous"),
    }
}

fn cuda(storage: &Storage) -> Result<&CudaStorage> {
    match storage {
        Storage::Cuda(storage) => Ok(storage),
        _ => bail!("a tensor is on another device"),
    }
}

/// See [`store`](super::store).
pub(super) fn store(op: &Store, cache: &mut CudaStorage, layout: &Layout) -> Result<()> {
    match op.numbers.dtype() {
        DType::F32 => store_as::<f32>(op, cache, layout),
        DType::F16 => store_as::<f16>(op, cache, layout),
        _ => store_as::<bf16>(op, cache, layout),
    }
}

#[allow(unsafe_code)]
fn store_as<T: CudaDType + DeviceRepr + WithDType>(
    op: &Store,
    cache: &mut CudaStorage,
    layout: &Layout,
) -> Result<()> {
    let Some((from, to)) = layout.contiguous_offsets() else { bail!("a cache is contiguous") };
    let (rows, width) = (op.slots.dims1()?, layout.shape().dims2()?.1);
    let (heads, width) = (size(op.kv_heads)?, size(width)?);
    let name = format!("store_{}", name_of(T::DTYPE)?);
    let function = cache.device.get_or_load_custom_func(&name, MODULE, PTX)?;
    let (numbers, slots) = (op.numbers.storage_and_layout(), op.slots.storage_and_layout());
    let (numbers, slots) =
        (view::<T>(cuda(&numbers.0)?, numbers.1)?, view::<u32>(cuda(&slots.0)?, slots.1)?);
    let mut cache = cache.as_cuda_slice_mut::<T>()?.slice_mut(from..to);
    let config = LaunchConfig {
        grid_dim: (size(rows)?, 1, 1),
        block_dim: ((heads * width).clamp(32, 256), 1, 1),
        shared_mem_bytes: 0,
    };
    let mut launch = function.builder();
    launch.arg(&numbers).arg(&slots).arg(&mut cache).arg(&heads).arg(&width);
    // SAFETY: the arguments are those of `store` in kernels.cu, in order. `numbers` has rows · heads · width
    // numbers and `slots` has rows, as `super::store` checked; slots are of the block table of a sequence,
    // whose blocks are in the cache (`BlockPool::device_blocks` grows it before it is lent).
    unsafe { launch.launch(config) }.w()?;
    Ok(())
}

/// See [`PagedRows::attend`](super::PagedRows::attend).
pub(super) fn attend(
    op: &Attend,
    queries: &CudaStorage,
    layout: &Layout,
) -> Result<(CudaStorage, Shape)> {
    let device = queries.device.clone();
    let storage = match op.keys.dtype() {
        DType::F32 => CudaStorage::wrap_cuda_slice(attend_as::<f32>(op, queries, layout)?, device),
        DType::F16 => CudaStorage::wrap_cuda_slice(attend_as::<f16>(op, queries, layout)?, device),
        _ => CudaStorage::wrap_cuda_slice(attend_as::<bf16>(op, queries, layout)?, device),
    };
    Ok((storage, layout.shape().clone()))
}

#[allow(unsafe_code)]
fn attend_as<T: CudaDType + DeviceRepr + WithDType>(
    op: &Attend,
    queries: &CudaStorage,
    layout: &Layout,
) -> Result<CudaSlice<T>> {
    let AttentionParams { heads, kv_heads, scale, soft_cap, window } = op.params;
    let (rows, width) = (op.rows.lengths.dims1()?, op.keys.dim(1)?);
    if width > MAX_WIDTH || !width.is_multiple_of(2) {
        bail!("heads of width {width}: even widths up to {MAX_WIDTH} are computed");
    }
    let device = &queries.device;
    let name = name_of(T::DTYPE)?;
    // Dimensions that a lane of a warp holds, in pairs.
    let pairs = width.div_ceil(64).next_power_of_two();
    let splits = op.rows.longest.div_ceil(SPLIT).max(1);
    let contiguous = |tensor: &Tensor| tensor.is_contiguous();
    if ![&op.keys, &op.values, &op.rows.tables, &op.rows.lengths].into_iter().all(contiguous) {
        bail!("a cache and its tables are contiguous");
    }
    let (keys, values) = (op.keys.storage_and_layout(), op.values.storage_and_layout());
    let (tables, lengths) =
        (op.rows.tables.storage_and_layout(), op.rows.lengths.storage_and_layout());
    let queries = view::<T>(queries, layout)?;
    let (keys, values) =
        (view::<T>(cuda(&keys.0)?, keys.1)?, view::<T>(cuda(&values.0)?, values.1)?);
    let (tables, lengths) =
        (view::<u32>(cuda(&tables.0)?, tables.1)?, view::<u32>(cuda(&lengths.0)?, lengths.1)?);
    let partials = if splits > 1 { rows * heads * splits * (width + 2) } else { 1 };
    // SAFETY: `attend` writes all of `output` with one split, and all of `partial` with more; then `merge`
    // writes all of `output`.
    let (mut output, mut partial) =
        unsafe { (device.alloc::<T>(rows * heads * width)?, device.alloc::<f32>(partials)?) };
    let grid_dim = (size(rows)?, size(heads)?, size(splits)?);
    let (heads, kv_heads, width) = (size(heads)?, size(kv_heads)?, size(width)?);
    let blocks = size(op.rows.tables.dim(1)?)?;
    let (scale, soft_cap) = (scale as f32, soft_cap.unwrap_or(0.0) as f32);
    let window = window.map_or(Ok(0), size)?;

    let attend = format!("attend_{name}_{pairs}");
    let function_of_rows = device.get_or_load_custom_func(&attend, MODULE, PTX)?;
    let mut launch = function_of_rows.builder();
    launch.arg(&queries).arg(&keys).arg(&values).arg(&tables).arg(&lengths);
    launch.arg(&mut output).arg(&mut partial);
    launch.arg(&heads).arg(&kv_heads).arg(&width).arg(&blocks);
    launch.arg(&scale).arg(&soft_cap).arg(&window);
    let block_dim = (ATTEND_THREADS, 1, 1);
    // SAFETY: the arguments are those of `attend` in kernels.cu, in order; `PagedRows::attend` checked the
    // shapes of queries, tables and lengths. A length is at most 16 times the blocks of its table
    // (`PagedRows`), whose blocks are in the cache. No length is 0.
    unsafe { launch.launch(LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 }) }.w()?;
    if splits > 1 {
        let merge = format!("merge_{name}");
        let function_of_splits = device.get_or_load_custom_func(&merge, MODULE, PTX)?;
        let mut launch = function_of_splits.builder();
        launch.arg(&partial).arg(&mut output).arg(&heads).arg(&width).arg(&grid_dim.2);
        let grid_dim = (grid_dim.0, grid_dim.1, 1);
        let block_dim = (width.clamp(32, 256), 1, 1);
        // SAFETY: the arguments are those of `merge` in kernels.cu, in order, for what `attend` wrote.
        unsafe { launch.launch(LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 }) }.w()?;
    }
    Ok(output)
}
