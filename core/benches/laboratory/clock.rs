//! CPU time of this thread, natively and under WASI, where the standard library has wall time only.

use std::time::Duration;

/// The CPU time that this thread has used so far.
#[cfg(not(target_os = "wasi"))]
pub fn now() -> Duration {
    cpu_time::ThreadTime::now().as_duration()
}

/// The CPU time that this thread has used so far.
#[cfg(target_os = "wasi")]
pub fn now() -> Duration {
    // SAFETY: the call has no preconditions; the library marks every foreign function unsafe.
    let nanoseconds = unsafe { wasip1::clock_time_get(wasip1::CLOCKID_THREAD_CPUTIME_ID, 0) };
    Duration::from_nanos(nanoseconds.expect("Node has a clock for CPU time"))
}
