"""What well-known libraries return: the types behind the paths of `names`.

Keys are what is called or read, values the class of the result. A rule about an API starts here.
"""

from __future__ import annotations

import ast
from typing import Final

_VERBS: Final = ("get", "post", "put", "patch", "delete", "head", "options", "request")

MODULE_ALIASES: Final[dict[str, str]] = {
    "asyncio.exceptions": "asyncio", "asyncio.tasks": "asyncio", "asyncio.streams": "asyncio",
    "asyncio.events": "asyncio", "asyncio.taskgroups": "asyncio", "asyncio.subprocess": "asyncio",
    "asyncio.futures": "asyncio", "asyncio.locks": "asyncio", "asyncio.base_events": "asyncio",
    "asyncio.runners": "asyncio", "asyncio.timeouts": "asyncio",
    "trio._core": "trio",
    "trio.lowlevel": "trio.lowlevel",
    "anyio.abc": "anyio",
    "anyio._core._eventloop": "anyio", "anyio._core._tasks": "anyio",
    "concurrent.futures.thread": "concurrent.futures",
    "concurrent.futures.process": "concurrent.futures", "concurrent.futures._base": "concurrent.futures",
    "requests.api": "requests", "requests.sessions": "requests", "requests.models": "requests",
    "httpx._client": "httpx", "httpx._models": "httpx", "httpx._api": "httpx", "httpx2": "httpx",
    "aiohttp.client": "aiohttp", "aiohttp.client_reqrep": "aiohttp", "fastapi.requests": "starlette.requests",
    "urllib3.response": "urllib3", "urllib3.poolmanager": "urllib3", "typing_extensions": "typing",
    "loguru._logger": "loguru", "structlog.stdlib": "structlog", "logging.handlers": "logging",
    "multiprocessing.context": "multiprocessing", "multiprocessing.pool": "multiprocessing",
    "starlette.websockets": "starlette.websockets", "tenacity.retry": "tenacity",
    "six.moves.urllib": "urllib",
}  # fmt: skip
"""Modules whose names are re-exported by a better-known one."""

RETURNS: Final[dict[str, str]] = {
    **{f"requests.{verb}": "requests.EagerResponse" for verb in _VERBS},
    **{f"requests.Session().{verb}": "requests.EagerResponse" for verb in (*_VERBS, "send")},
    "requests.session": "requests.Session",
    "httpx.stream": "httpx.Response", "httpx.Client().stream": "httpx.Response",
    "httpx.AsyncClient().stream": "httpx.Response",
    **{f"httpx.{verb}": "httpx.EagerResponse" for verb in _VERBS},
    **{f"httpx.{client}().{verb}": "httpx.EagerResponse"
       for client in ("Client", "AsyncClient")
       for verb in (*_VERBS, "send")},
    "urllib.request.urlopen": "http.client.HTTPResponse",
    "urllib.request.build_opener": "urllib.request.OpenerDirector",
    "urllib.request.OpenerDirector().open": "http.client.HTTPResponse",
    "http.client.HTTPConnection().getresponse": "http.client.HTTPResponse",
    "http.client.HTTPSConnection().getresponse": "http.client.HTTPResponse",
    "urllib3.request": "urllib3.EagerResponse",
    **{f"urllib3.{pool}().{verb}": "urllib3.EagerResponse"
       for pool in ("PoolManager", "ProxyManager", "HTTPConnectionPool", "HTTPSConnectionPool")
       for verb in ("request", "urlopen")},
    **{f"aiohttp.ClientSession().{verb}": "aiohttp.ClientResponse" for verb in _VERBS},
    "aiohttp.request": "aiohttp.ClientResponse",
    "aiohttp.ClientSession().ws_connect": "aiohttp.ClientWebSocketResponse",
    "boto3.client": "boto3.Client", "boto3.session.Session().client": "boto3.Client",
    "boto3.Session().client": "boto3.Client", "boto3.resource": "boto3.Resource",
    "asyncio.create_subprocess_exec": "asyncio.Process", "asyncio.create_subprocess_shell": "asyncio.Process",
    "socket.create_connection": "socket.socket",
    "gzip.open": "gzip.GzipFile", "bz2.open": "bz2.BZ2File", "lzma.open": "lzma.LZMAFile",
    "zipfile.ZipFile().open": "zipfile.ZipExtFile", "tarfile.open": "tarfile.TarFile",
    "tarfile.TarFile.open": "tarfile.TarFile", "tarfile.TarFile().extractfile": "tarfile.ExFileObject",
    "zlib.decompressobj": "zlib.Decompress",
    "logging.getLogger": "logging.Logger", "logging.Logger().getChild": "logging.Logger",
    "logging.getLoggerClass": "logging.Logger",
    "structlog.get_logger": "structlog.BoundLogger", "structlog.getLogger": "structlog.BoundLogger",
    "structlog.wrap_logger": "structlog.BoundLogger",
    **{f"structlog.BoundLogger().{method}": "structlog.BoundLogger" for method in ("bind", "new", "unbind",
    "try_unbind")},
    **{f"loguru.Logger().{method}": "loguru.Logger" for method in ("opt", "bind", "patch", "contextualize")},
    **{f"asyncio.{name}": "asyncio.AbstractEventLoop"
       for name in ("get_event_loop", "get_running_loop", "new_event_loop")},
    "asyncio.AbstractEventLoop().create_task": "asyncio.Task", "asyncio.create_task": "asyncio.Task",
    "asyncio.ensure_future": "asyncio.Task", "asyncio.run_coroutine_threadsafe": "concurrent.futures.Future",
    "asyncio.AbstractEventLoop().create_future": "asyncio.Future",
    "concurrent.futures.ThreadPoolExecutor().submit": "concurrent.futures.Future",
    "concurrent.futures.ProcessPoolExecutor().submit": "concurrent.futures.Future",
    "concurrent.futures.Executor().submit": "concurrent.futures.Future",
    "anyio.create_task_group": "anyio.TaskGroup", "trio.open_nursery": "trio.Nursery",
    "argparse.ArgumentParser().parse_args": "argparse.Namespace",
    "websockets.connect": "websockets.Connection",
    "starlette.requests.Request().stream": "starlette.requests.Stream",
    **{f"tramapy.bounded.{reader}": "tramapy.bounded.Bounded"
       for reader in ("read_bounded_body", "read_bounded_response", "read_bounded_bytes",
       "read_error_preview")},
}  # fmt: skip
"""The class of a call's result. An `EagerResponse` has read its whole body before it is returned."""

STREAMED: Final[dict[str, str]] = {
    "requests.EagerResponse": "requests.Response", "httpx.EagerResponse": "httpx.Response",
    "urllib3.EagerResponse": "urllib3.HTTPResponse",
}  # fmt: skip
"""What an eager call returns instead when it is told to stream."""

ATTRIBUTES: Final[dict[str, str]] = {
    "asyncio.open_connection()[0]": "asyncio.StreamReader()",
    "asyncio.open_connection()[1]": "asyncio.StreamWriter()",
    "asyncio.open_unix_connection()[0]": "asyncio.StreamReader()",
    "asyncio.Process().stdout": "asyncio.StreamReader()",
    "asyncio.Process().stderr": "asyncio.StreamReader()",
    "aiohttp.ClientResponse().content": "aiohttp.StreamReader()",
    "aiohttp.web.Request().content": "aiohttp.StreamReader()",
    "loguru.logger": "loguru.Logger()", "fastapi.Request": "starlette.requests.Request",
    "fastapi.Request()": "starlette.requests.Request()",
    "sys.__stdout__": "sys.stdout", "sys.__stderr__": "sys.stderr", "sys.__stdin__": "sys.stdin",
    "multiprocessing.Process": "multiprocessing.Process", "asyncio.CancelledError": "asyncio.CancelledError",
    "aiohttp.web.Request": "aiohttp.web.Request",
}  # fmt: skip
"""The path that an attribute or an element stands for."""

STAR_EXPORTS: Final[dict[str, frozenset[str]]] = {
    "sys": frozenset({"stdout", "stderr", "stdin", "exit", "exc_info", "__stdout__", "__stderr__"}),
    "traceback": frozenset(
        {"print_exc", "print_exception", "print_tb", "print_stack", "print_last", "format_exc"}
    ),
    "pprint": frozenset({"pprint", "pp"}),
    "os": frozenset({"write", "environ", "_exit"}),
    "pdb": frozenset({"set_trace", "post_mortem", "pm"}),
    "rich": frozenset({"print", "print_json", "inspect"}),
    "click": frozenset({"echo", "secho"}),
    "asyncio": frozenset(
        {
            "CancelledError",
            "create_task",
            "ensure_future",
            "gather",
            "run",
            "new_event_loop",
            "set_event_loop",
        }
        | {
            "current_task",
            "get_event_loop",
            "get_running_loop",
            "open_connection",
            "wait_for",
            "TaskGroup",
            "shield",
        }
    ),
    "trio": frozenset({"Cancelled", "open_nursery", "CancelScope"}),
    "contextlib": frozenset({"suppress", "ExitStack", "contextmanager", "asynccontextmanager"}),
    "threading": frozenset({"Thread", "Timer"}),
    "requests": frozenset({*_VERBS, "Session", "session"}),
    "httpx": frozenset({*_VERBS, "stream", "Client", "AsyncClient"}),
    "urllib.request": frozenset({"urlopen", "urlretrieve", "build_opener"}),
    "logging": frozenset({"getLogger", "debug", "info", "warning", "error", "exception", "critical", "log"}),
    "atexit": frozenset({"register"}),
    "signal": frozenset({"signal"}),
    "concurrent.futures": frozenset({"ThreadPoolExecutor", "ProcessPoolExecutor", "CancelledError"}),
}
"""What a star import of these modules binds, as far as a rule cares."""


def result_class(path: str, call: ast.Call) -> str | None:
    """Return the class of the result of calling a path with these arguments; None if unknown."""
    known = RETURNS.get(path)
    if known in STREAMED and is_streamed(call):
        return STREAMED[known]
    if path == "rich.console.Console" and any(keyword.arg == "file" for keyword in call.keywords):
        return "rich.console.FileConsole"
    return known


def is_streamed(call: ast.Call) -> bool:
    """Tell whether a call of an HTTP client asks for the body in pieces."""
    for keyword in call.keywords:
        value = (
            keyword.value.value if isinstance(keyword.value, ast.Constant) else ...
        )  # a variable may say so
        if keyword.arg == "stream" and value is not False:
            return True
        if keyword.arg == "preload_content" and value in (False, ...):
            return True
    return False
