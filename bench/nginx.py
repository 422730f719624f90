"""nginx on loopback over a folder of gzipped files: Debian's package, in the foreground, with a configuration of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_STARTS_WITHIN_S = 10.0
_CONFIG = """{user}worker_processes 1;
daemon off;
pid {run}/nginx.pid;
error_log {run}/error.log;
events {{ worker_connections 256; }}
http {{
  types {{ text/html html; text/plain txt; }}
  charset utf-8;
  access_log off;
  sendfile on;
  keepalive_requests 100000;
  client_body_temp_path {run}/body; proxy_temp_path {run}/proxy; fastcgi_temp_path {run}/fastcgi;
  uwsgi_temp_path {run}/uwsgi; scgi_temp_path {run}/scgi;
  server {{ {listen} root {site}; gzip_static always; gzip_vary on; }}
}}
"""


@contextmanager
def nginx(site: Path, run: Path, host: str = "127.0.0.1", also: Sequence[str] = ()) -> Iterator[str]:
    """Serve `site` while the block runs; gives the origin. `run` holds its files, `also` further addresses, served on the same port.

    SystemExit says what is missing.
    """
    program = _program()
    run.mkdir(parents=True, exist_ok=True)
    port = _free_port(host)
    config = run / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""  # so that its worker may read wherever the checkout lies
    listen = " ".join(f"listen {address}:{port};" for address in (host, *also))
    config.write_text(_CONFIG.format(user=user, run=run, listen=listen, site=site))
    process = subprocess.Popen([program, "-p", run, "-c", config, "-e", run / "error.log"])
    try:
        _wait(process, host, port, run / "error.log")
        yield f"http://{host}:{port}"
    finally:
        process.terminate()
        process.wait()


def _program() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    if (program := shutil.which("nginx", path=path)) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing Debian's nginx-light …", file=sys.stderr, flush=True)
        # Runlevel 1: nothing is started on port 80.
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "nginx-light"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, stdout=subprocess.DEVNULL, check=False)
        program = shutil.which("nginx", path=path)
    if program is None:
        raise SystemExit("this bench serves its pages with nginx, which is not here; on Debian, as root: apt-get install nginx-light")
    return program


def _free_port(host: str) -> int:
    with socket.socket() as sock:
        sock.bind((host, 0))
        return int(sock.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], host: str, port: int, log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                said = log.read_text() if log.exists() else ""
                raise SystemExit(f"nginx did not start on {host}:{port}: {said.strip() or 'it said nothing'}") from None
            time.sleep(0.02)
