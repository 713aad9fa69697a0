//! NVIDIA's driver through its C interface, where it is installed: modules from PTX, memory, launches.
//!
//! ```text
//! PTX ──▶ Module ──▶ launch(kernel, sizes, parameters) ──▶ memory
//! ```
//!
//! The library is loaded when it is asked for, so that a machine without a GPU builds and tests everything around it. A
//! kernel that faults takes the whole process's context with it: every call after it fails with [`Failure::is_final`],
//! and whoever goes on does so in a new process.
//!
//! Source: CUDA Driver API, version 12; the functions with `_v2` are what its header makes of the plain names.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::{null, null_mut};

use libloading::{Library, Symbol};

/// As drivers are installed.
const LIBRARY: [&str; 2] = ["libcuda.so.1", "nvcuda.dll"];

/// Bytes of the assembler's messages that are kept.
const LOG_BYTES: usize = 4096;

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const LOG_OPTIONS: [c_int; 2] = [5, 6];

/// Attributes of a device, by their number in `CUdevice_attribute`.
const MULTIPROCESSORS: c_int = 16;
const CAPABILITY: [c_int; 2] = [75, 76];

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: c_int = 8;

/// Shared memory that a kernel may use without opting in.
const SHARED_BYTES: u32 = 48 * 1024;

/// Constants of textures: `CU_RESOURCE_TYPE_PITCH2D`, `CU_AD_FORMAT_FLOAT`, `CU_TR_ADDRESS_MODE_CLAMP`.
const RESOURCE_PITCHED: c_int = 3;
const FORMAT_FLOAT: c_int = 0x20;
const ADDRESS_CLAMP: c_int = 1;

/// Alignment of the rows of a texture.
const PITCH_BYTES: usize = 512;

/// An address in device memory.
pub type Address = u64;

type Handle = *mut c_void;

/// A call that failed: which one, and what the driver says.
#[derive(Debug)]
pub struct Failure {
    code: c_int,
    text: String,
}

impl Failure {
    /// Has it taken the context with it? Errors of the kernel's own making have: faults, traps, and what is said of an
    /// unknown kind.
    pub fn is_final(&self) -> bool {
        matches!(self.code, 700 | 702 | 709 | 710 | 714..=719 | 999)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// The first GPU, with a context that is current on this thread for as long as the process lives.
pub struct Gpu {
    /// Never unloaded: the context is the library's, and has threads.
    library: &'static Library,
    /// As the driver calls it.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: i32,
    /// The newest CUDA that the driver knows, as 1000 times its major and 10 times its minor version.
    pub driver: i32,
}

/// Code that the driver has assembled.
pub struct Module<'g> {
    gpu: &'g Gpu,
    handle: Handle,
}

/// Memory of the device; freed with the value.
pub struct Memory<'g> {
    gpu: &'g Gpu,
    /// Start address.
    pub address: Address,
    /// Its size.
    pub bytes: usize,
}

impl fmt::Display for Gpu {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((major, minor), driver) = (self.capability, self.driver);
        let (cuda, minor_cuda) = (driver / 1000, driver % 1000 / 10);
        write!(out, "{}, {} multiprocessors, compute capability {major}.{minor}, ", self.name, self.multiprocessors)?;
        write!(out, "driver for CUDA {cuda}.{minor_cuda}")
    }
}

impl Gpu {
    /// The first GPU, if there is a driver and it has one.
    pub fn open() -> Option<Gpu> {
        // SAFETY: the driver's library has no initialiser with an effect on us.
        let library = LIBRARY.into_iter().find_map(|name| unsafe { Library::new(name) }.ok())?;
        let library = Box::leak(Box::new(library));
        let mut gpu = Gpu { library, name: String::new(), capability: (0, 0), multiprocessors: 0, driver: 0 };
        gpu.start().ok()?;
        Some(gpu)
    }

    fn start(&mut self) -> Result<(), Failure> {
        let (mut device, mut context, mut name) = (0 as c_int, null_mut::<c_void>(), [0 as c_char; 128]);
        // SAFETY: types are those of `cuda.h`, and every pointer is to a value that outlives its call.
        unsafe {
            self.check("cuInit", self.function::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit")(0))?;
            let version = self.function::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDriverGetVersion");
            let code = version(&raw mut self.driver);
            self.check("cuDriverGetVersion", code)?;
            let get = self.function::<unsafe extern "C" fn(*mut c_int, c_int) -> c_int>("cuDeviceGet");
            self.check("cuDeviceGet", get(&raw mut device, 0))?;
            let called = self.function::<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>("cuDeviceGetName");
            self.check("cuDeviceGetName", called(name.as_mut_ptr(), 128, device))?;
            let retain = "cuDevicePrimaryCtxRetain";
            let retain_context = self.function::<unsafe extern "C" fn(*mut Handle, c_int) -> c_int>(retain);
            self.check(retain, retain_context(&raw mut context, device))?;
            let set = self.function::<unsafe extern "C" fn(Handle) -> c_int>("cuCtxSetCurrent");
            self.check("cuCtxSetCurrent", set(context))?;
        }
        let attribute = |which: c_int| {
            let mut value = 0;
            type Get = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
            // SAFETY: as above.
            let code = unsafe { self.function::<Get>("cuDeviceGetAttribute")(&raw mut value, which, device) };
            self.check("cuDeviceGetAttribute", code).map(|()| value)
        };
        let [major, minor] = CAPABILITY;
        (self.multiprocessors, self.capability) = (attribute(MULTIPROCESSORS)?, (attribute(major)?, attribute(minor)?));
        // SAFETY: the driver has ended the name with a zero.
        self.name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        Ok(())
    }

    /// Assembles PTX for this GPU.
    pub fn load(&self, ptx: &str) -> Result<Module<'_>, Failure> {
        let text = CString::new(ptx.replace('\0', " ")).unwrap_or_default();
        let (mut handle, mut log) = (null_mut::<c_void>(), vec![0_u8; LOG_BYTES]);
        let mut options = LOG_OPTIONS;
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        type Load = unsafe extern "C" fn(*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void) -> c_int;
        // SAFETY: types are those of `cuda.h`; text, log and options live until the call returns.
        let code = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            self.function::<Load>("cuModuleLoadDataEx")(&raw mut handle, text.as_ptr().cast(), 2, options, values)
        };
        self.check("cuModuleLoadDataEx", code).map_err(|mut failure| {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            failure.text = format!("{}: {}", failure.text, log.trim());
            failure
        })?;
        Ok(Module { gpu: self, handle })
    }

    /// Takes memory, of undefined contents.
    pub fn allocate(&self, bytes: usize) -> Result<Memory<'_>, Failure> {
        let mut address = 0;
        type Allocate = unsafe extern "C" fn(*mut Address, usize) -> c_int;
        // SAFETY: types are those of `cuda.h`.
        let code = unsafe { self.function::<Allocate>("cuMemAlloc_v2")(&raw mut address, bytes.max(1)) };
        self.check("cuMemAlloc", code)?;
        Ok(Memory { gpu: self, address, bytes })
    }

    /// Copies to the device.
    pub fn write(&self, address: Address, bytes: &[u8]) -> Result<(), Failure> {
        type Copy = unsafe extern "C" fn(Address, *const c_void, usize) -> c_int;
        // SAFETY: as many bytes are read as there are.
        let code = unsafe { self.function::<Copy>("cuMemcpyHtoD_v2")(address, bytes.as_ptr().cast(), bytes.len()) };
        self.check("cuMemcpyHtoD", code)
    }

    /// Copies from the device.
    pub fn read(&self, address: Address, bytes: usize) -> Result<Vec<u8>, Failure> {
        let mut copy = vec![0_u8; bytes];
        type Copy = unsafe extern "C" fn(*mut c_void, Address, usize) -> c_int;
        // SAFETY: as many bytes are written as there are.
        let code = unsafe { self.function::<Copy>("cuMemcpyDtoH_v2")(copy.as_mut_ptr().cast(), address, bytes) };
        self.check("cuMemcpyDtoH", code).map(|()| copy)
    }

    /// Waits for everything launched.
    pub fn wait(&self) -> Result<(), Failure> {
        // SAFETY: types are those of `cuda.h`.
        let code = unsafe { self.function::<unsafe extern "C" fn() -> c_int>("cuCtxSynchronize")() };
        self.check("cuCtxSynchronize", code)
    }

    /// A function of the interface.
    ///
    /// # Safety
    ///
    /// The type has to be the one that `cuda.h` gives.
    unsafe fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the caller's.
        unsafe { self.library.get(name) }.unwrap_or_else(|error| panic!("the driver has `{name}`: {error}"))
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), Failure> {
        if code == 0 {
            return Ok(());
        }
        let mut name = null::<c_char>();
        type Name = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        // SAFETY: the driver's names are constants.
        let text = unsafe {
            self.function::<Name>("cuGetErrorName")(code, &raw mut name);
            if name.is_null() { "?".into() } else { CStr::from_ptr(name).to_string_lossy() }
        };
        Err(Failure { code, text: format!("{call}: {text} ({code})") })
    }
}

/// A texture of four f32 a texel; freed with the value.
pub struct Texture<'g> {
    gpu: &'g Gpu,
    /// Handle that a kernel takes for it.
    pub handle: u64,
    /// Its texels, for as long as it lives.
    _memory: Memory<'g>,
}

/// `CUDA_RESOURCE_DESC` of memory with rows of a pitch.
#[repr(C)]
struct Resource {
    kind: c_int,
    address: Address,
    format: c_int,
    channels: c_uint,
    width: usize,
    height: usize,
    pitch: usize,
    reserved: [u64; 11],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Default)]
struct Sampling {
    address_modes: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    rest: [c_int; 21],
}

impl Gpu {
    /// A texture that is read as the simulator reads it: the texel that unnormalised coordinates
    /// fall into, clamped to the edge.
    pub fn texture(&self, width: u32, height: u32, texels: &[u8]) -> Result<Texture<'_>, Failure> {
        let row = width as usize * 16;
        let pitch = row.next_multiple_of(PITCH_BYTES);
        let memory = self.allocate(pitch * height as usize)?;
        for (index, row) in texels.chunks(row).enumerate() {
            self.write(memory.address + (index * pitch) as u64, row)?;
        }
        let resource = Resource {
            kind: RESOURCE_PITCHED,
            address: memory.address,
            format: FORMAT_FLOAT,
            channels: 4,
            width: width as usize,
            height: height as usize,
            pitch,
            reserved: [0; 11],
            flags: 0,
        };
        let sampling = Sampling { address_modes: [ADDRESS_CLAMP; 3], ..Sampling::default() };
        let mut handle = 0;
        type Create = unsafe extern "C" fn(*mut u64, *const Resource, *const Sampling, *const c_void) -> c_int;
        // SAFETY: the structures have the layout of `cuda.h`, with what they leave unused at zero.
        let code = unsafe {
            let create = self.function::<Create>("cuTexObjectCreate");
            create(&raw mut handle, &raw const resource, &raw const sampling, null())
        };
        self.check("cuTexObjectCreate", code)?;
        Ok(Texture { gpu: self, handle, _memory: memory })
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the handle.
        unsafe { self.gpu.function::<unsafe extern "C" fn(u64) -> c_int>("cuTexObjectDestroy")(self.handle) };
    }
}

impl Module<'_> {
    /// Runs a kernel and waits for its end. `params` are the bytes of each parameter.
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: &[Vec<u8>],
    ) -> Result<(), Failure> {
        let (gpu, name) = (self.gpu, CString::new(kernel).unwrap_or_default());
        let mut function = null_mut::<c_void>();
        // The driver wants each parameter aligned as its type is, which copies in words of 16 bytes are for every type.
        let mut copies: Vec<Vec<u128>> = params.iter().map(|bytes| vec![0; bytes.len().div_ceil(16).max(1)]).collect();
        for (copy, bytes) in copies.iter_mut().zip(params) {
            // SAFETY: the copy has at least as many bytes.
            unsafe { copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        let mut pointers: Vec<*mut c_void> = copies.iter_mut().map(|copy| copy.as_mut_ptr().cast()).collect();
        type Find = unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_int;
        type Set = unsafe extern "C" fn(Handle, c_int, c_int) -> c_int;
        #[rustfmt::skip]
        type Launch = unsafe extern "C" fn(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void,
        ) -> c_int;
        // SAFETY: types are those of `cuda.h`; the parameters live until the driver has copied them, within the call.
        unsafe {
            let find = gpu.function::<Find>("cuModuleGetFunction");
            gpu.check("cuModuleGetFunction", find(&raw mut function, self.handle, name.as_ptr()))?;
            if shared > SHARED_BYTES {
                let set = gpu.function::<Set>("cuFuncSetAttribute");
                gpu.check("cuFuncSetAttribute", set(function, DYNAMIC_SHARED, shared.cast_signed()))?;
            }
            let ([gx, gy, gz], [bx, by, bz], params) = (grid, block, pointers.as_mut_ptr());
            let launch = gpu.function::<Launch>("cuLaunchKernel");
            let code = launch(function, gx, gy, gz, bx, by, bz, shared, null_mut(), params, null_mut());
            gpu.check("cuLaunchKernel", code)?;
        }
        gpu.wait()
    }

    /// Address of a variable of the module.
    pub fn global(&self, name: &str) -> Result<Address, Failure> {
        let (mut address, mut bytes, name) = (0, 0, CString::new(name).unwrap_or_default());
        type Find = unsafe extern "C" fn(*mut Address, *mut usize, Handle, *const c_char) -> c_int;
        // SAFETY: types are those of `cuda.h`.
        let code = unsafe {
            let find = self.gpu.function::<Find>("cuModuleGetGlobal_v2");
            find(&raw mut address, &raw mut bytes, self.handle, name.as_ptr())
        };
        self.gpu.check("cuModuleGetGlobal", code).map(|()| address)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the handle. That it may fail after a fault changes nothing.
        unsafe { self.gpu.function::<unsafe extern "C" fn(Handle) -> c_int>("cuModuleUnload")(self.handle) };
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { self.gpu.function::<unsafe extern "C" fn(Address) -> c_int>("cuMemFree_v2")(self.address) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_interface() {
        assert_eq!(size_of::<Resource>(), 144);
        assert_eq!(size_of::<Sampling>(), 104);
    }
}
