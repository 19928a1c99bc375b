#!/bin/sh
# view serves the written page and nothing else, to this machine alone, and hostile requests do it no harm.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
PYTHON=${PYTHON:-python3}

# view ARGUMENTS...: start it, and wait for its address, in $address.
view() {
    last="view $*"
    rm -f line
    "$LARMOR" view "$@" >line 2>log &
    server=$!
    until_true "the line that says where it listens" test -s line
    address=$(cat line)
    port=${address%/}
    port=${port##*:}
}

# ended: Ctrl-C is its end.
ended() {
    kill -s INT $server
    code=0
    wait $server || code=$?
    server=
    [ $code -eq 130 ] || fail "$last: exit code $code, expected 130"
}

# ask TEXT...: what one connection gets for these bytes of printf, its head and body, in the file `got`.
ask() {
    "$PYTHON" - "$port" "$@" >got <<'END'
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) as s:
    s.sendall("".join(sys.argv[2:]).encode().decode("unicode_escape").encode("latin-1"))
    s.shutdown(socket.SHUT_WR)
    while True:
        try:
            more = s.recv(65536)
        except ConnectionError:
            more = b""
        if not more:
            break
        sys.stdout.buffer.write(more)
END
}

# status N: the last answer's.
status() {
    head -n 1 got | grep -q "^HTTP/1.[01] $1 " || fail "$last: expected $1: $(head -n 1 got)"
}

get() {
    ask "GET $1 HTTP/1.1\\r\\nHost: ${2:-127.0.0.1:$port}\\r\\nConnection: close\\r\\n\\r\\n"
}

body() {
    "$PYTHON" -c 'import sys; sys.stdout.buffer.write(open("got", "rb").read().split(b"\r\n\r\n", 1)[1])' >body
}

expect 0 phantom -o scan.h5 --matrix 24 --coils 3 --snr 30 -q
expect 0 recon scan.h5 -o image.h5 --report page.html -q
expect 0 convert image.h5 image.html -q

view page.html
get /
status 200
body
cmp body page.html || fail "$last: not the page"
ask "HEAD / HTTP/1.1\\r\\nHost: localhost:$port\\r\\nConnection: close\\r\\n\\r\\n"
status 200

# Other paths, other methods, and names that a foreign page has pointed here.
for path in /page.html /../page.html /%2e%2e/page.html /etc/passwd //etc/passwd "/?/../etc/passwd/.." /favicon.ico; do
    get "$path"
    grep -q '^HTTP/1.1 \(404\|200\) ' got || fail "$last: $path: $(head -n 1 got)"
    case $path in /\?*) ;; *) status 404 ;; esac
done
ask "POST / HTTP/1.1\\r\\nHost: 127.0.0.1:$port\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nabc"
status 405
for host in "evil.example:$port" evil.example "127.0.0.1" "127.0.0.1:1" "localhost.evil.example:$port" "127.0.0.1.evil:$port"; do
    get / "$host"
    status 403
done
ask "GET / HTTP/1.0\\r\\n\\r\\n"
status 403

# Long lines, random bytes, half requests and many connections at once: it goes on.
"$PYTHON" - "$port" <<'END'
import random, socket, sys
port, held = int(sys.argv[1]), []
random.seed(3)
texts = [b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n", b"\0" * 1000]
for i in range(60):
    s = socket.create_connection(("127.0.0.1", port), 10)
    held.append(s)
    try:
        s.sendall(texts[i] if i < len(texts) else random.randbytes(random.randrange(1, 3000)))
    except ConnectionError:
        pass
for i in range(200):
    held.append(socket.create_connection(("127.0.0.1", port), 10))
for s in held:
    s.close()
END
for _ in 1 2 3; do
    get /
    status 200
    body
    cmp body page.html || fail "$last: not the page after hostile requests"
done
ended

# Of an image the page is that which convert writes, but for its title; nothing stays behind.
view image.h5 --port 0
get /
body
sed 's/"title":"[^"]*"/"title":""/' body >ours
sed 's/"title":"[^"]*"/"title":""/' image.html >theirs
cmp ours theirs || fail "$last: not the page that convert writes"
expect 1 view page.html --port "$port"
said "larmor: 127.0.0.1:$port: cannot be listened on; choose another --port or --address."
ended
expect 2 view page.html --address nowhere
said "larmor: --address nowhere: an address such as 127.0.0.1 expected."
expect 3 view missing.html
said "larmor: missing.html: no such file."
