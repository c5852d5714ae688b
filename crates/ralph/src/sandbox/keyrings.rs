//! The kernel's keyrings, out of reach: calls that use them fail as on a kernel that has none.
//!
//! No namespace separates a session's keyring. It can hold keys of encrypted disks and tickets of Kerberos, and
//! is inherited by all that the session starts.

use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
#[error("cannot keep the program from the kernel's keyrings")]
pub struct KeyringsError(#[source] io::Error);

#[cfg(target_os = "linux")]
pub use on_linux::refuse;

#[cfg(target_os = "linux")]
mod on_linux {
    use super::{KeyringsError, io};
    use seccompiler::{apply_filter, sock_filter};

    /// Of each kind of processor: `add_key`, `request_key` and `keyctl`, which have consecutive numbers. A
    /// processor may run programs for another kind.
    const CALLS: [(u32, u32, u32); 5] = [
        (0xc000_003e, 248, 250), // x86-64
        (0x4000_0003, 286, 288), // x86
        (0xc000_00b7, 217, 219), // aarch64
        (0x4000_0028, 309, 311), // arm
        (0xc000_00f3, 217, 219), // riscv64
    ];

    /// The numbers of x32, another way to call an x86-64 kernel, have it, and are the same otherwise.
    const X32: u32 = 0x4000_0000;

    /// Offsets of what a filter sees of a call.
    const NUMBER: u32 = 0;
    const PROCESSOR: u32 = 4;

    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const IS: u16 = 0x15;
    const IS_AT_LEAST: u16 = 0x35;
    const IS_MORE_THAN: u16 = 0x25;
    const RETURN: u16 = 0x06;

    const ALLOW: u32 = 0x7fff_0000;
    /// With `ENOSYS`.
    const NO_SUCH_CALL: u32 = 0x0005_0000 | 38;

    /// For this process and all that it starts; sets `no_new_privs`.
    pub fn refuse() -> Result<(), KeyringsError> {
        apply_filter(&filter()).map_err(|cause| KeyringsError(io::Error::other(cause)))
    }

    fn filter() -> Vec<sock_filter> {
        let step = |code, k, yes, no| sock_filter { code, jt: yes, jf: no, k };
        let of_processor = |(processor, first, last)| {
            [
                step(LOAD, PROCESSOR, 0, 0),
                // Else at the next processor.
                step(IS, processor, 0, 6),
                step(LOAD, NUMBER, 0, 0),
                step(AND, !X32, 0, 0),
                step(IS_AT_LEAST, first, 0, 2),
                step(IS_MORE_THAN, last, 1, 0),
                step(RETURN, NO_SUCH_CALL, 0, 0),
                step(RETURN, ALLOW, 0, 0),
            ]
        };
        CALLS.into_iter().flat_map(of_processor).chain([step(RETURN, ALLOW, 0, 0)]).collect()
    }
}

#[cfg(not(target_os = "linux"))]
pub fn refuse() -> Result<(), KeyringsError> {
    Ok(())
}
