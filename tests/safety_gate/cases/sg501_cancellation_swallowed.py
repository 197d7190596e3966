"""Cases of SG501. `# advice:` marks a finding that does not fail."""
import asyncio
import contextlib
import sys
from asyncio import CancelledError as Stopped
from contextlib import suppress

import backoff
import tenacity

from tramapy import rethrow_if_cancellation

STOP = (OSError, asyncio.CancelledError)


async def swallowed(t):
    try:
        await t
    except:  # expect: SG501
        pass
    try:
        await t
    except BaseException:  # expect: SG501
        log("x")
    try:
        await t
    except Stopped:  # expect: SG501
        return
    try:
        await t
    except (Exception, asyncio.CancelledError):  # expect: SG501
        pass
    try:
        await t
    except STOP:  # expect: SG501
        pass
    try:
        await t
    except (*STOP, ValueError):  # expect: SG501
        pass
    try:
        await t
    except asyncio.exceptions.CancelledError:  # expect: SG501
        pass


async def not_preserved(t, ok, other):
    try:
        await t
    except BaseException as e:  # expect: SG501
        if ok:
            rethrow_if_cancellation(e)
    try:
        await t
    except BaseException as e:  # expect: SG501
        if isinstance(e, KeyboardInterrupt):
            raise
    try:
        await t
    except BaseException as e:  # expect: SG501
        if isinstance(other, asyncio.CancelledError):
            raise
    try:
        await t
    except BaseException:  # expect: SG501

        def inner():
            raise

        inner()
    try:
        await t
    except BaseException:  # expect: SG501
        try:
            raise
        except BaseException:  # advice: SG501
            pass
    try:
        await t
    except BaseException as e:  # expect: SG501
        rethrow_if_cancellation(other)
    try:
        await t
    except BaseException:  # expect: SG501
        for item in t:
            raise
    try:
        await t
    except BaseException:  # expect: SG501
        with suppress(BaseException):  # advice: SG501
            raise


async def forever(t):
    while True:
        try:
            await t
        except BaseException:  # expect: SG501
            continue


async def preserved(t, q, k):
    try:
        await t
    except Exception:
        pass
    try:
        await t
    except TimeoutError:
        pass
    try:
        await t
    except BaseException:
        t.close()
        raise
    try:
        await t
    except BaseException as e:
        if not isinstance(e, Exception):
            raise
    try:
        await t
    except BaseException as e:
        rethrow_if_cancellation(e)
        log(e)
    try:
        await t
    except BaseException as e:
        raise e from None
    try:
        await t
    except BaseException as e:
        raise e.with_traceback(None)
    try:
        await t
    except asyncio.CancelledError:
        log("cancelled")
        raise
    except BaseException:
        log("unreachable by a cancellation")
    try:
        await t
    except asyncio.CancelledError:
        raise asyncio.CancelledError("again")
    try:
        await t
    except asyncio.CancelledError:
        if asyncio.current_task().cancelling():
            raise
    try:
        await t
    except BaseException:
        while q:
            raise
        else:
            raise
    try:
        await t
    except BaseException as e:
        match e:
            case asyncio.CancelledError():
                raise
            case _:
                pass
    try:
        await t
    except BaseException:
        match k:
            case 1:
                raise
            case _:
                raise
    try:
        await t
    except BaseException as e:
        err = e
        try:
            t.close()
        except Exception:
            pass
        raise err


async def judged_on_real_trees(t, done, scope_of):
    try:
        await t
    except asyncio.CancelledError:
        if sys.version_info >= (3, 11) and (task := asyncio.current_task()) and task.cancelling():
            raise
    error = None
    try:
        await t
    except BaseException as e:
        error = e
    if error:
        raise error
    try:
        with scope_of.CancelScope(shield=True):
            await t
    except BaseException:  # advice: SG501
        log("no cancellation from outside arrives here")


class Converter:
    def convert(self, error):
        if isinstance(error, OSError):
            raise RuntimeError("broken") from error
        raise error

    @staticmethod
    def keep(error):
        if not isinstance(error, Exception):
            raise error

    async def use(self, t):
        try:
            await t
        except BaseException as e:
            self.convert(e)
        try:
            await t
        except BaseException as e:
            self.keep(e)
            log(e)

    async def lose(self, t):
        try:
            await t
        except BaseException as e:  # expect: SG501
            self.forget(e)

    def forget(self, error):
        log(error)


def done_callback(task: asyncio.Task):
    try:
        task.exception()
    except asyncio.CancelledError:
        pass


async def cleanup_of_a_failure(t, connection):
    try:
        await t
    except BaseException:
        try:
            await connection.close()
        except BaseException:  # advice: SG501
            pass
        raise


class MayTest:
    async def __aexit__(self, kind, error, tb):
        if self.is_ours(error):
            return True  # advice: SG501
        return False


async def order(t):
    try:
        await t
    except BaseException:  # expect: SG501
        pass
    except asyncio.CancelledError:
        raise


def synchronous(f, fut):
    try:
        f()
    except BaseException as e:  # advice: SG501
        fut.set_exception(e)
    try:
        f()
    except BaseException:
        raise


async def nested_function(t):
    def inner():
        try:
            t.poll()
        except BaseException:  # advice: SG501
            return None

    return inner


async def nothing_awaited(f):
    try:
        f()
    except BaseException:  # advice: SG501
        pass


async def suppressed(t, stack):
    with suppress(asyncio.CancelledError):  # expect: SG501
        await t
    with contextlib.suppress(BaseException):  # expect: SG501
        await t
    with contextlib.ExitStack() as exits:
        exits.enter_context(suppress(BaseException))  # expect: SG501
        await t
    with suppress(Exception):
        await t


class Swallows:
    async def __aexit__(self, kind, error, tb):
        return True  # expect: SG501


class Tests:
    async def __aexit__(self, kind, error, tb):
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            return False
        return True


class Narrow:
    async def __aexit__(self, kind, error, tb):
        return isinstance(error, ValueError)


class Plain:
    async def __aexit__(self, kind, error, tb):
        await self.close()


@contextlib.asynccontextmanager
async def manager():
    try:
        yield 1
    except BaseException:  # expect: SG501
        pass


@tenacity.retry(retry=tenacity.retry_if_exception_type(BaseException))  # expect: SG501
async def retried():
    pass


@backoff.on_exception(backoff.expo, asyncio.CancelledError)  # expect: SG501
async def backed_off():
    pass


class CancelledError(Exception):
    pass


async def own_class(t):
    try:
        await t
    except CancelledError:
        pass


async def strings(t):
    text = "except BaseException: pass"
    return text


class Client:
    errors = (ValueError, asyncio.CancelledError)

    async def attribute_tuple(self, t):
        try:
            await t
        except self.errors:  # expect: SG501
            pass


async def exact_class_in_a_tuple(t):
    try:
        await t
    except BaseException as e:
        if type(e) in (asyncio.CancelledError, KeyboardInterrupt):
            raise
        t.log(e)


async def exact_class_outside_a_tuple(t):
    try:
        await t
    except BaseException as e:
        if type(e) not in (asyncio.CancelledError, KeyboardInterrupt):
            t.log(e)
            return
        raise


async def exact_class_in_another_tuple(t):
    try:
        await t
    except BaseException as e:  # expect: SG501
        if type(e) in (SystemExit, KeyboardInterrupt):
            raise
        t.log(e)
