"""One file a scene, in the order in which they are played."""

from tramapy.cli.demo.scenes import answer, circuit, events, fallback, masking, rejection, retry, stream

__all__ = ["SCENES"]

SCENES = (
    masking.play,
    answer.play,
    stream.play,
    retry.play,
    circuit.play,
    fallback.play,
    rejection.play,
    events.play,
)
