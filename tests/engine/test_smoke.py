from tests.drivers import Driver, text_of
from tramapy import ProviderError


def test_retry_then_answer(driver: Driver) -> None:
    rig = driver.rig([ProviderError("down", retryable=True), "hello there"])
    assert rig.complete().content == "hello there"
    assert rig.clock.sleeps == (0.05,)
    rig = driver.rig([ProviderError("down", retryable=True), "hello there"])
    assert text_of(rig.stream()) == "hello there"
