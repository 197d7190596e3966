"""Cases of SG507, which looks at files that use trio or anyio."""
import anyio
import trio


async def unshielded(resource):
    try:
        await resource.use()
    finally:
        await resource.flush()  # expect: SG507
    try:
        await resource.use()
    except trio.Cancelled:
        await resource.flush()  # expect: SG507
        raise


async def shielded(resource):
    try:
        await resource.use()
    finally:
        with anyio.CancelScope(shield=True):
            await resource.flush()
    try:
        await resource.use()
    finally:
        with trio.move_on_after(1, shield=True):
            await resource.flush()
    try:
        await resource.use()
    finally:
        with anyio.move_on_after(1) as scope:
            scope.shield = True
            await resource.flush()
    try:
        await resource.use()
    finally:
        with anyio.CancelScope() as own:
            own.cancel()
            await resource.flush()
    try:
        await resource.use()
    finally:
        await resource.aclose()
    try:
        await resource.use()
    finally:
        resource.close()
