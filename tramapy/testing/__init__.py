"""What a test needs: a scripted model, a scripted server with faults, time that stands still, a canary search."""

from tramapy.testing.answers import OutOfAnswersError
from tramapy.testing.canary import assert_no_canary
from tramapy.testing.clock import FakeClock
from tramapy.testing.exchange import (
    BeginBody,
    CloseConnection,
    EndBody,
    ErrorDetail,
    Exchange,
    PassGate,
    ResetConnection,
    SendBytes,
    ServerAnswer,
    ServerRequest,
    SseFrame,
    Step,
    WireFormat,
)
from tramapy.testing.faults import (
    ConnectionReset,
    CutStream,
    GzipBomb,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    OversizedBody,
    PlainAnswer,
    RawBody,
    SlowAnswer,
)
from tramapy.testing.gate import Gate
from tramapy.testing.observer import RecordedEvent, RecordingObserver
from tramapy.testing.pieces import Split, split_every, split_words
from tramapy.testing.provider import ProviderAnswer, ScriptedProvider, StreamScript
from tramapy.testing.script import ScriptedAnswer
from tramapy.testing.server import ScriptedServer

__all__ = [
    "BeginBody",
    "CloseConnection",
    "ConnectionReset",
    "CutStream",
    "EndBody",
    "ErrorDetail",
    "Exchange",
    "FakeClock",
    "Gate",
    "GzipBomb",
    "HttpRejection",
    "MalformedStream",
    "MidStreamError",
    "OutOfAnswersError",
    "OversizedBody",
    "PassGate",
    "PlainAnswer",
    "ProviderAnswer",
    "RawBody",
    "RecordedEvent",
    "RecordingObserver",
    "ResetConnection",
    "ScriptedAnswer",
    "ScriptedProvider",
    "ScriptedServer",
    "SendBytes",
    "ServerAnswer",
    "ServerRequest",
    "SlowAnswer",
    "Split",
    "SseFrame",
    "Step",
    "StreamScript",
    "WireFormat",
    "assert_no_canary",
    "split_every",
    "split_words",
]
