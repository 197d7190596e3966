"""Cases of SG504."""


async def jumps(t, items):
    try:
        await t
    finally:
        return 1  # expect: SG504


async def loops(t, items):
    for item in items:
        try:
            await item
        finally:
            continue  # expect: SG504
    while True:
        try:
            await t
        finally:
            break  # expect: SG504


async def harmless(t, stream):
    try:
        await t
    finally:
        while True:
            if not stream.step():
                break
        for item in stream:
            continue

        def inner():
            return 1

        inner()


def synchronous(f):
    try:
        f()
    finally:
        return 1  # advice: SG504
