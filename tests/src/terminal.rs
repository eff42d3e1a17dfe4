//! A terminal for a run that behaves otherwise on one: a pseudo-terminal of 24 rows and 80 columns, held
//! by Python because the harness itself may not fork.

use crate::sandbox::{Invocation, Sandbox};

/// Runs the words that follow on a terminal, whose output becomes stdout. Once `reply.0` was read,
/// `reply.1` is typed.
pub fn on_a_terminal<'a>(sandbox: &'a Sandbox, reply: (&str, &str)) -> Invocation<'a> {
    sandbox.program("python3").args(["-c", HOLDER, reply.0, reply.1]).env("TERM", "xterm").env("NO_COLOR", "")
}

const HOLDER: &str = r"
import fcntl, os, pty, struct, sys, termios
awaited, typed, words = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execvp(words[0], words)
seen = b''
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
    os.write(1, data)
    if awaited and awaited in seen:
        awaited = b''
        os.write(terminal, typed)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
";
