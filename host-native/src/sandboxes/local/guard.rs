//! Runs a command under a guard that outlives neither the command nor the host, so that nothing is left behind.
//!
//! Between `fork` and `exec` the child splits: the process that the host sees stays as the *keeper* and never runs a
//! program; the command runs below it. The keeper ends everything when the command has ended, when the *lifeline* (a
//! pipe that the host holds open) closes, or when the host's spawning thread dies. Where PID namespaces can be had, an
//! *init* stands between the two: the kernel ends a namespace with its init, and the init dies with its keeper.
#![expect(
    unsafe_code,
    reason = "a process can be set up between fork and exec only with a pre_exec hook and raw calls"
)]

use std::ffi::CStr;
use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;

use libc::{c_int, pid_t};

use super::isolation::Isolation;
use super::memory::Parts;

/// How many descriptors are looked at where the kernel (before 5.11) cannot treat all at once.
const OLD_KERNEL_DESCRIPTORS: c_int = 4096;

/// How one command is guarded. Everything it needs is made before the fork, for nothing may be allocated after it.
pub(super) struct Guard {
    isolation: Isolation,
    lifeline: OwnedFd,
    uid_map: Vec<u8>,
    gid_map: Vec<u8>,
    spare: Parts,
    probe: bool,
}

impl Guard {
    /// A guard that lets the command live as long as the other end of `lifeline` is open.
    ///
    /// With `probe`, no program is run: the command ends with success where the guard could be set up.
    pub(super) fn new(isolation: Isolation, lifeline: OwnedFd, probe: bool) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let uid_map = format!("{uid} {uid} 1").into_bytes();
        let gid_map = format!("{gid} {gid} 1").into_bytes();
        Self { isolation, lifeline, uid_map, gid_map, spare: Parts::of_this_process(), probe }
    }

    /// Puts the command under this guard.
    pub(super) fn install(self, command: &mut std::process::Command) {
        // SAFETY: the hook runs in a fork of a process with threads, where only async-signal-safe calls are sound. It
        // makes system calls through `libc` and touches only memory prepared before the fork or on its own stack: it
        // takes no lock, allocates nothing and unwinds nowhere.
        unsafe { command.pre_exec(move || self.enter()) };
    }

    /// Splits the forked child. Returns in the process that becomes the command; an error reaches the host's `spawn`.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: plain system calls on descriptors and sets that live on this stack.
        unsafe {
            libc::setsid();
            set_mask(true)?;
            let signals = check(libc::signalfd(-1, &watched_signals(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            self.isolate()?;
            // After the change of namespaces, which may clear it.
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
            let mut status = [0; 2];
            check(libc::pipe2(status.as_mut_ptr(), libc::O_CLOEXEC))?;
            let child = fork()?;
            if child != 0 {
                let spare = black_box(self.spare);
                Keeper { child, namespace: self.isolation.is_namespace() }.keep(
                    self.lifeline.as_raw_fd(),
                    signals,
                    status[0],
                    &spare,
                );
            }
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if let Isolation::PidNamespace { own_proc, .. } = self.isolation {
                if own_proc {
                    mount_proc()?;
                }
                let command = fork()?;
                if command != 0 {
                    let spare = black_box(self.spare);
                    init(command, status[1], &spare);
                }
            }
            set_mask(false)?;
            close_on_exec();
            if self.probe {
                libc::_exit(0);
            }
        }
        Ok(())
    }

    fn isolate(&self) -> io::Result<()> {
        // SAFETY: plain system calls; this process has one thread.
        unsafe {
            match self.isolation {
                Isolation::Subreaper => {
                    check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?;
                }
                Isolation::PidNamespace { user_namespace, own_proc } => {
                    let user = if user_namespace { libc::CLONE_NEWUSER } else { 0 };
                    let mounts = if own_proc { libc::CLONE_NEWNS } else { 0 };
                    check(libc::unshare(libc::CLONE_NEWPID | user | mounts))?;
                    if user_namespace {
                        write_file(c"/proc/self/setgroups", b"deny")?;
                        write_file(c"/proc/self/uid_map", &self.uid_map)?;
                        write_file(c"/proc/self/gid_map", &self.gid_map)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A lifeline: the end that a guard watches, and the end that the host holds open.
pub(super) fn lifeline() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // Above the standard streams, which are replaced in the child before the guard reads its end.
    let above = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    Ok((above(&read)?, above(&write)?))
}

struct Keeper {
    child: pid_t,
    namespace: bool,
}

impl Keeper {
    /// Waits for the command's end or a reason to end it, ends what is left, and dies as the command did.
    ///
    /// # Safety
    /// To be called once, in a forked process that runs nothing else: it closes every descriptor and lets go of the
    /// heap, so that everything it uses has to be on this stack.
    unsafe fn keep(&self, lifeline: RawFd, signals: RawFd, status: RawFd, spare: &Parts) -> ! {
        // SAFETY: see above; every pointer below is to a local.
        unsafe {
            libc::dup2(lifeline, 0);
            libc::dup2(signals, 1);
            libc::dup2(status, 2);
            close_from(3);
            let_go(spare);
            let mut ended = self.reap();
            while ended.is_none() && !woken_to_end() {
                ended = self.reap();
            }
            let ended = if self.namespace { self.end_namespace(ended) } else { self.end_children(ended) };
            die_as(ended);
        }
    }

    /// Takes the ends of children without waiting.
    unsafe fn reap(&self) -> Option<c_int> {
        let mut ended = None;
        let mut status = 0;
        // SAFETY: the pointer is to a local.
        while let pid @ 1.. = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            if pid == self.child {
                ended = Some(status);
            }
        }
        ended
    }

    /// Ends the namespace's init, whose end the kernel reports only when every process in it is gone.
    unsafe fn end_namespace(&self, ended: Option<c_int>) -> c_int {
        // SAFETY: the child is not yet waited for when it is killed, so its id cannot be another's.
        unsafe {
            let mut status = ended.unwrap_or(0);
            if ended.is_none() {
                libc::kill(self.child, libc::SIGKILL);
                while libc::waitpid(self.child, &raw mut status, 0) == -1 && errno() == libc::EINTR {}
            }
            let mut told = [0_u8; size_of::<c_int>()];
            if libc::read(2, told.as_mut_ptr().cast(), told.len()) == told.len().cast_signed() {
                return c_int::from_ne_bytes(told);
            }
            status
        }
    }

    /// Ends children until there are none: orphans of each that dies become children of this process in turn.
    unsafe fn end_children(&self, mut ended: Option<c_int>) -> c_int {
        loop {
            // SAFETY: only children that are not yet waited for are killed; the pointer is to a local.
            unsafe {
                kill_children();
                let mut status = 0;
                let pid = libc::waitpid(-1, &raw mut status, 0);
                if pid == self.child {
                    ended = Some(status);
                } else if pid == -1 && errno() != libc::EINTR {
                    return ended.unwrap_or(libc::SIGKILL);
                }
            }
        }
    }
}

/// The first process of a namespace: waits for everything in it, and ends with the command.
unsafe fn init(command: pid_t, status_pipe: RawFd, spare: &Parts) -> ! {
    // SAFETY: this process runs nothing else; the pointers are to locals.
    unsafe {
        libc::dup2(status_pipe, 0);
        close_from(1);
        let_go(spare);
        loop {
            let mut status: c_int = 0;
            let pid = libc::waitpid(-1, &raw mut status, 0);
            if pid == command {
                libc::write(0, (&raw const status).cast(), size_of::<c_int>());
                libc::_exit(0);
            }
            if pid == -1 && errno() != libc::EINTR {
                libc::_exit(1);
            }
        }
    }
}

/// Waits for a signal or the lifeline's end; true when everything is to be ended.
unsafe fn woken_to_end() -> bool {
    // SAFETY: the structures are plain data on this stack, for which zeros are valid.
    unsafe {
        let mut polled = [
            libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: 1, events: libc::POLLIN, revents: 0 },
        ];
        if libc::poll(polled.as_mut_ptr(), 2, -1) < 0 {
            return errno() != libc::EINTR;
        }
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        while libc::read(1, (&raw mut info).cast(), size) == size.cast_signed() {
            if info.ssi_signo == libc::SIGTERM.cast_unsigned() {
                return true;
            }
        }
        polled[0].revents != 0
    }
}

/// Kills every child of this process, which has one thread.
unsafe fn kill_children() {
    // SAFETY: reads into a local; the ids listed are of children, whose ids stay theirs until they are waited for.
    unsafe {
        let file = libc::open(super::isolation::CHILDREN.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let mut buffer = [0_u8; 4096];
        let mut pid: pid_t = 0;
        while let read @ 1.. = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) {
            for byte in buffer.iter().take(read.cast_unsigned()) {
                if byte.is_ascii_digit() {
                    pid = pid.wrapping_mul(10).wrapping_add(pid_t::from(byte - b'0'));
                } else if pid > 0 {
                    libc::kill(std::mem::take(&mut pid), libc::SIGKILL);
                }
            }
        }
        libc::close(file);
    }
}

/// Ends this process the way the command ended, so that the host reads the command's own end.
unsafe fn die_as(status: c_int) -> ! {
    // SAFETY: plain system calls in a process that is about to end.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            // The keeper has nothing worth a core file.
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(signal, libc::SIG_DFL);
            let _ = set_mask(false);
            libc::kill(libc::getpid(), signal);
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status));
    }
}

/// A fork without the C library's handlers, which need not be safe here. Zero in the child.
unsafe fn fork() -> io::Result<pid_t> {
    // SAFETY: without flags this is a plain fork; no pointer is passed.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid_t::try_from(pid).unwrap_or(pid_t::MAX)) }
}

/// Shows the namespace's own processes under `/proc`, so that programs do not mistake the host's for theirs.
unsafe fn mount_proc() -> io::Result<()> {
    let (none, proc) = (std::ptr::null(), c"proc".as_ptr());
    // SAFETY: the strings are constants that end in NUL; null is allowed where it is passed.
    unsafe {
        check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_SLAVE, none.cast()))?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        check(libc::mount(proc, c"/proc".as_ptr(), proc, flags, none.cast()))?;
    }
    Ok(())
}

/// Blocks every signal, or none.
fn set_mask(block: bool) -> io::Result<()> {
    // SAFETY: the set is a local that `sigfillset` or `sigemptyset` initialises.
    unsafe {
        let mut set = std::mem::zeroed();
        if block {
            libc::sigfillset(&raw mut set)
        } else {
            libc::sigemptyset(&raw mut set)
        };
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()))?;
    }
    Ok(())
}

fn watched_signals() -> libc::sigset_t {
    // SAFETY: the set is a local that `sigemptyset` initialises.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        set
    }
}

fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is new and owned by nobody else; the buffer outlives the call.
    unsafe {
        let file = OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?);
        let written = libc::write(file.as_raw_fd(), content.as_ptr().cast(), content.len());
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Gives memory back that this process has no use for. `spare` has to be on the stack, which callers make sure of with a
/// copy that the compiler cannot see through.
unsafe fn let_go(spare: &Parts) {
    // A local's address tells which part is this thread's own, with its stack and its thread-local variables.
    let here = black_box(0_u8);
    for (start, end) in spare.without((&raw const here).addr()) {
        // SAFETY: the parts are private, anonymous and large, or the heap: they hold what the host allocated and the
        // stacks of threads that do not exist here, and nothing of it is used from here on. The advice leaves mappings
        // in place, and fails without effect where a part is gone.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(start), end - start, libc::MADV_DONTNEED) };
    }
}

/// Closes every descriptor from `first` on.
unsafe fn close_from(first: libc::c_uint) {
    // SAFETY: the caller's process uses no descriptor from `first` on.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) != 0 {
            for fd in first.cast_signed()..OLD_KERNEL_DESCRIPTORS {
                libc::close(fd);
            }
        }
    }
}

/// Has every descriptor but the standard streams close when a program is run, those too that the host was given
/// without that mark.
fn close_on_exec() {
    // SAFETY: plain system calls; the mark has no effect before the program is run.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) != 0 {
            for fd in 3..OLD_KERNEL_DESCRIPTORS {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
