"""Cases of SG301."""
import urllib.request
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import aiohttp
import boto3
import httpx
import requests
import urllib3
from fastapi import Request
from tramapy.bounded import read_bounded_response


def eager(url, session: requests.Session):
    requests.get(url)  # expect: SG301
    requests.get(url).text  # expect: SG301
    session.post(url)  # expect: SG301
    httpx.get(url)  # expect: SG301
    urllib3.PoolManager().request("GET", url)  # expect: SG301
    urllib.request.urlretrieve(url)  # expect: SG301
    requests.head(url)
    return requests.get(url, stream=False)  # expect: SG301


def streamed(url):
    r = requests.get(url, stream=True)
    first = r.raw.read(1024)
    with httpx.stream("GET", url) as response:
        response.read()  # expect: SG301
    return r.text, first  # expect: SG301


def told_by_a_variable(client: httpx.Client, request, stream):
    return client.send(request, stream=stream)


def opened(url):
    with urlopen(url) as r:
        r.read(-1)  # expect: SG301
        r.read(4096)
    return urlopen(url).read()  # expect: SG301


def error_body(url):
    try:
        return urlopen(url).read(1024)
    except HTTPError as e:
        return e.read()  # expect: SG301


def annotated(resp: httpx.Response, other: "httpx.Response | None"):
    first = resp.text, other.json()  # expect: SG301 SG301
    return first, resp.content


async def client(url):
    async with httpx.AsyncClient() as c:
        r = await c.get(url)  # expect: SG301
        return r.content


async def session_body(url):
    async with aiohttp.ClientSession() as session, session.get(url) as resp:
        await resp.text()  # expect: SG301
        await resp.content.read()  # expect: SG301
        return await resp.content.read(100)


async def server(request: Request):
    return await request.body()  # expect: SG301


async def unknown(request):
    return await request.body()  # strict: SG301


def stored(name):
    obj = boto3.client("s3").get_object(Key=name)
    return obj["Body"].read()  # expect: SG301


def gathered(url):
    r = requests.get(url, stream=True)
    whole = b"".join(r.iter_content(1024))  # expect: SG301
    parts = list(r.iter_lines())  # expect: SG301
    return whole, parts


async def accumulated(url):
    body = b""
    async with httpx.AsyncClient() as c, c.stream("GET", url) as r:
        async for chunk in r.aiter_bytes():  # expect: SG301
            body += chunk
    return body


async def capped(url, cap):
    body = b""
    async with httpx.AsyncClient() as c, c.stream("GET", url) as r:
        async for chunk in r.aiter_bytes():
            body += chunk
            if len(body) > cap:
                raise ValueError("too big")
    return body


async def passed_on(url, parser):
    async with httpx.AsyncClient() as c, c.stream("GET", url) as r:
        async for chunk in r.aiter_bytes():
            parser.feed(chunk)


def bounded(response: httpx.Response):
    return read_bounded_response(response)


def other_things(message, element, path: Path):
    return message.content, element.text, path.read_text(), path.read_bytes()
