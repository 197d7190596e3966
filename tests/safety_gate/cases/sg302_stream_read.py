"""Cases of SG302."""
import asyncio
import configparser
import io
import json
import shutil
import socket
import subprocess
import sys
from urllib.request import urlopen

import websockets


def standard_input():
    sys.stdin.read()  # expect: SG302
    sys.stdin.buffer.read()  # expect: SG302
    sys.stdin.readlines()  # expect: SG302
    sys.stdin.read(100)
    return sys.stdin.readline()


async def network(host):
    reader, writer = await asyncio.open_connection(host, 1)
    await reader.read()  # expect: SG302
    await reader.read(-1)  # expect: SG302
    await reader.read(100)
    await reader.readline()
    return await reader.readexactly(16)


async def annotated(reader: asyncio.StreamReader, size=-1):
    await reader.read(size)  # expect: SG302
    return await reader.read(n=size)  # expect: SG302


def sockets():
    sock = socket.create_connection(("h", 1))
    sock.makefile().read()  # expect: SG302
    data = b""
    while True:
        chunk = sock.recv(4096)  # expect: SG302
        if not chunk:
            break
        data += chunk
    return data


def sockets_capped(limit):
    sock = socket.create_connection(("h", 1))
    data = b""
    while len(data) < limit:
        chunk = sock.recv(4096)
        data += chunk
    while True:
        chunk = sock.recv(4096)
        data += chunk
        if len(data) > limit:
            raise ValueError("too big")


def children(cmd):
    subprocess.run(cmd, capture_output=True)  # advice: SG302
    subprocess.check_output(cmd)  # advice: SG302
    proc = subprocess.Popen(cmd, stdout=subprocess.PIPE)
    proc.communicate()  # advice: SG302
    proc.stdout.read()  # advice: SG302
    subprocess.run(cmd)


def loaders(url, path):
    json.load(urlopen(url))  # expect: SG302
    with urlopen(url) as response, open(path, "wb") as file:
        shutil.copyfileobj(response, file)  # advice: SG302
    with open(path) as fh:
        return json.load(fh)


def limits(uri):
    websockets.connect(uri, max_size=None)  # expect: SG302
    return websockets.connect(uri, max_size=2**20)


def unknown(f, files, stream, n=-1):
    f.read()  # strict: SG302
    f.read(None)  # strict: SG302
    f.read(size=n)  # strict: SG302
    f.readlines()  # strict: SG302
    f.read(4096)
    f.readline(8192)
    stream.read(*[n])
    return [g.read() for g in files]  # strict: SG302


class Book:
    def read(self):
        return ""


def known(book: Book, path):
    configparser.ConfigParser().read(path)
    io.BytesIO(b"").read()
    with open(path) as fh:
        fh.read()
    return book.read()
