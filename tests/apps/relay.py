"""One connection to the pipes of a program and back: relay.py PROGRAM ARGUMENTS..., which prints its port.

SPDX-License-Identifier: Apache-2.0
"""

import os
import socket
import subprocess
import sys
import threading


def copy(read, write) -> None:
    """Until the end of what is read."""
    while piece := read(65536):
        write(piece)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0]
with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
    to, back = program.stdin.fileno(), program.stdout.fileno()
    sender = threading.Thread(target=copy, args=(client.recv, lambda piece: os.write(to, piece)), daemon=True)
    sender.start()
    copy(lambda size: os.read(back, size), client.sendall)
    client.shutdown(socket.SHUT_WR)
    code = program.wait()
sys.exit(code)
