"""Where a server is, and how a client proves that it may call.

A store's directory is reached through its unix socket, whose path may be longer than the 107 bytes
of a socket's address: then through /proc/self/fd of the opened directory.
"""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import grpc

from wq import errors

PathLike = Union[str, "os.PathLike[str]"]
_MAX_SOCKET_PATH = 107  # Of sockaddr_un, without the final zero.

# The server answers a List with up to 1000 keys of any length. The reconnection of a channel is
# bounded by that of the workers.
_OPTIONS: List[Tuple[str, int]] = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]

# Of TCP: a peer that is gone without a FIN. An interval below five minutes would be refused by
# servers with gRPC's default settings. A worker with keys notices within 20 s: its heartbeats are
# not acknowledged (TCP_USER_TIMEOUT, which gRPC sets if keepalive is on).
_KEEPALIVE: List[Tuple[str, int]] = [
    ("grpc.keepalive_time_ms", 310_000),
    ("grpc.keepalive_timeout_ms", 20_000),
]


def _read(path: PathLike) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@dataclass
class Address:
    """A server's address. Thread-safe; `close` must be the last call."""

    target: str
    options: List[Tuple[str, int]]
    credentials: Optional[Any]
    token: Optional[str]
    token_file: Optional[PathLike]
    directory: int = -1  # The opened directory of a socket with a long path.

    def metadata(self) -> Sequence[Tuple[str, str]]:
        """Of each call. The file is read for each, so that a token can be renewed. Raises
        Unauthenticated if it cannot be read."""
        token = self.token
        if self.token_file is not None:
            try:
                token = _read(self.token_file).decode().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise errors.Unauthenticated(f"token_file {self.token_file}: {error}") from error
        return () if token is None else (("authorization", f"Bearer {token}"),)

    def close(self) -> None:
        """Closes the directory. Only after the channel."""
        if self.directory >= 0:
            os.close(self.directory)
            self.directory = -1


def resolve(
    address: PathLike,
    token: Optional[str],
    token_file: Optional[PathLike],
    tls_ca: Optional[PathLike],
    tls_cert: Optional[PathLike],
    tls_key: Optional[PathLike],
) -> Address:
    """The Address of DIR, "unix:PATH" or "HOST:PORT". A string with a slash, or that is the name
    of a directory, is DIR.

    Raises InvalidArgument, and OSError if a file is not readable.
    """
    text = os.fspath(address)
    if token is not None and token_file is not None:
        raise errors.InvalidArgument("token and token_file: give one of them")
    if (tls_cert is None) != (tls_key is None):
        raise errors.InvalidArgument("tls_cert and tls_key: give both or none")
    credentials = None
    if tls_ca is not None or tls_cert is not None:
        credentials = grpc.ssl_channel_credentials(
            _read(tls_ca) if tls_ca is not None else None,
            _read(tls_key) if tls_key is not None else None,
            _read(tls_cert) if tls_cert is not None else None,
        )
    result = Address(text, list(_OPTIONS), credentials, token, token_file)
    if text.startswith("unix:"):
        path = text[len("unix:") :]
    elif "/" in text or os.path.isdir(text):
        path = os.path.join(text, "control.sock")
    else:
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal():
            raise errors.InvalidArgument(
                f"{text!r} is neither a directory nor unix:PATH nor HOST:PORT"
            )
        result.options += _KEEPALIVE
        return result
    if credentials is not None:
        raise errors.InvalidArgument(f"{text!r} is a unix socket, which has no TLS")
    path = os.path.abspath(path)
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        directory, name = os.path.split(path)
        try:
            result.directory = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise errors.NotFound(f"{directory} does not exist") from None
        path = f"/proc/self/fd/{result.directory}/{name}"
    result.target = "unix:" + urllib.parse.quote(path)
    return result
