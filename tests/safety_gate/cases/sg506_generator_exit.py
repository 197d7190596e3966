"""Cases of SG506."""


def yields_again(src):
    try:
        yield 1
    except GeneratorExit:  # expect: SG506
        yield 2


async def goes_on(src):
    while True:
        try:
            yield await src.get()
        except BaseException:  # expect: SG506
            continue


def falls_through(src):
    try:
        yield 1
    except:  # expect: SG506
        pass
    yield 2


def ends(src):
    try:
        yield 1
    except GeneratorExit:
        return
    try:
        yield 1
    except GeneratorExit:
        src.close()
        raise
    try:
        yield 1
    except BaseException as e:
        if not isinstance(e, Exception):
            raise
    yield 2


def last(src):
    try:
        yield from src
    except GeneratorExit:
        src.close()


def protected(src):
    for x in src:
        try:
            yield x
        except GeneratorExit:
            raise
        except BaseException:
            continue
